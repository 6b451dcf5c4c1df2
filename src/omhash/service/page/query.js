// What is asked: a picture, words, dials and categories.

import { at, make } from "./dom.js";

const LARGEST = 10 * 1024 * 1024;

export const query = { picture: null, like: null, chosen: [] };

const file = at("file");
const preview = at("preview");
let changed = () => {};
let complain = () => {};

export function options() {
  const asked = { k: 24, detail: 2 * (Number(at("detail").value) / 10) ** 2 };
  const lean = Number(at("emphasis").value) / 10;
  if (lean && !at("emphasis").disabled) {
    asked.emphasis = lean < 0 ? { text: round(1 + lean) } : { image: round(1 - lean) };
  }
  if (query.chosen.length) asked.where = { categories: { any: query.chosen } };
  return asked;
}

const round = (value) => Math.round(100 * value) / 100;

export const text = () => at("text").value.trim();

export function usePicture(blob) {
  if (!blob.type.startsWith("image/")) {
    complain("That is not a picture.");
  } else if (blob.size > LARGEST) {
    complain("That picture has more than 10 MB: choose a smaller one.");
  } else {
    setPicture(blob);
    changed();
  }
}

export function setPicture(blob) {
  if (preview.src) URL.revokeObjectURL(preview.src);
  query.picture = blob;
  preview.hidden = at("unpick").hidden = !blob;
  if (blob) preview.src = URL.createObjectURL(blob);
  else preview.removeAttribute("src");
  file.value = "";
  dials();
}

export function clear() {
  setPicture(null);
  at("text").value = "";
  query.like = null;
  dials();
}

export function dials() {
  const both = Boolean(query.picture && text());
  const lean = at("emphasis");
  lean.disabled = !both;
  const value = Number(lean.value);
  const words = !both
    ? "needs both a picture and words"
    : value === 0
      ? "as learned"
      : Math.abs(value) === 10
        ? `only the ${value < 0 ? "picture" : "words"}`
        : `more the ${value < 0 ? "picture" : "words"}`;
  lean.setAttribute("aria-valuetext", words);
  const close = at("detail");
  const how = ["the same kind", "a little closer", "close", "this very one"];
  const step = Math.ceil((3 * Number(close.value)) / Number(close.max));
  close.setAttribute("aria-valuetext", how[step]);
}

export function showCategories(names) {
  at("categories").replaceChildren(...names.map((name) => make("option", { value: name })));
  query.chosen = query.chosen.filter((name) => names.includes(name));
  showChosen();
}

function showChosen() {
  at("chosen").replaceChildren(
    ...query.chosen.map((name) => {
      const button = make(
        "button",
        { type: "button", class: "chip", "aria-label": `Remove ${name}` },
        name,
        make("span", { "aria-hidden": "true" }, "×"),
      );
      button.addEventListener("click", () => {
        query.chosen = query.chosen.filter((one) => one !== name);
        showChosen();
        at("category").focus();
        changed();
      });
      return make("li", {}, button);
    }),
  );
}

function addCategory() {
  const field = at("category");
  const names = [...at("categories").options].map((option) => option.value);
  const name = names.find((one) => one.toLowerCase() === field.value.trim().toLowerCase());
  if (!name) return false;
  if (!query.chosen.includes(name)) query.chosen.push(name);
  field.value = "";
  showChosen();
  changed();
  return true;
}

export function listen(onChange, onSubmit, onComplaint) {
  changed = onChange;
  complain = onComplaint;
  at("search").addEventListener("submit", (event) => {
    event.preventDefault();
    if (at("category").value && document.activeElement === at("category")) {
      if (!addCategory()) complain(`There is no category “${at("category").value}”.`);
    } else {
      onSubmit();
    }
  });
  file.addEventListener("change", () => file.files[0] && usePicture(file.files[0]));
  at("unpick").addEventListener("click", () => {
    setPicture(null);
    at("file").focus();
    changed();
  });
  at("text").addEventListener("input", dials);
  for (const id of ["emphasis", "detail"]) {
    at(id).addEventListener("input", dials);
    at(id).addEventListener("change", changed);
  }
  at("category").addEventListener("input", (event) => {
    // A choice from the list arrives without typing.
    if (!event.inputType || event.inputType === "insertReplacementText") addCategory();
  });
  at("category").addEventListener("change", addCategory);
  document.addEventListener("paste", (event) => {
    const pasted = [...(event.clipboardData?.files ?? [])].find((one) => one.type.startsWith("image/"));
    if (pasted) {
      event.preventDefault();
      usePicture(pasted);
    }
  });
  listenToDrops();
}

function listenToDrops() {
  let depth = 0;
  const over = (on) => {
    at("drop").hidden = !on;
  };
  document.addEventListener("dragenter", (event) => {
    if ([...event.dataTransfer.types].includes("Files")) {
      depth += 1;
      over(true);
    }
  });
  document.addEventListener("dragleave", () => {
    depth = Math.max(0, depth - 1);
    over(depth > 0);
  });
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    depth = 0;
    over(false);
    const dropped = event.dataTransfer.files[0];
    if (dropped) usePicture(dropped);
  });
}
