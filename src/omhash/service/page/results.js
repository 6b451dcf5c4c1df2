// What was found: cards, and what stands there while there are none.

import { at, make, many } from "./dom.js";

const cards = at("cards");
const empty = at("empty");

const titled = (item) => String(item.payload.name ?? item.payload.title ?? item.key);

function tile(item) {
  const source = item.payload.picture;
  if (typeof source === "string" && source.startsWith("data:image/")) {
    return make("img", { src: source, alt: "", loading: "lazy", decoding: "async" });
  }
  return make("span", { class: "letter", "aria-hidden": "true" }, titled(item).slice(0, 2));
}

function card(item, bits, choose) {
  const apart =
    item.distance === undefined
      ? ""
      : make(
          "span",
          { class: "apart", title: `score ${item.score.toFixed(3)}` },
          make("meter", {
            min: 0, max: bits, value: bits - item.distance, "aria-hidden": "true",
          }),
          `distance ${item.distance}`,
        );
  const button = make(
    "button",
    { type: "button", class: "card", title: "Find things like this" },
    make("span", { class: "tile" }, tile(item)),
    make("span", { class: "title" }, titled(item)),
    make("span", { class: "kinds" }, item.categories.join(" · ") || "no category"),
    apart,
  );
  button.addEventListener("click", () => choose(item));
  return make("li", {}, button);
}

export function show(items, { title, count, bits, choose }) {
  at("found").textContent = title;
  at("count").textContent = count;
  cards.removeAttribute("aria-busy");
  cards.replaceChildren(...items.map((item) => card(item, bits, choose)));
  empty.hidden = true;
}

export function showNothing(title, ...words) {
  at("found").textContent = title;
  at("count").textContent = "";
  cards.removeAttribute("aria-busy");
  cards.replaceChildren();
  empty.replaceChildren(...words);
  empty.hidden = false;
}

export function showWaiting() {
  cards.setAttribute("aria-busy", "true");
  at("count").textContent = "Searching…";
  if (!cards.children.length) {
    const grey = () => make("li", { class: "card grey", "aria-hidden": "true" });
    cards.replaceChildren(...Array.from({ length: 8 }, grey));
  }
  empty.hidden = true;
}

export function stopWaiting() {
  cards.removeAttribute("aria-busy");
  cards.querySelectorAll(".grey").forEach((one) => one.remove());
  at("count").textContent = "";
}

export function summary(hits, milliseconds) {
  return `${many(hits.length, "item", "items")} in ${Math.round(milliseconds)} ms`;
}

export { titled };
