// What the query became: how much each modality counts, and its code as a pattern of bits.

import { at, make } from "./dom.js";

const WORDS = { image: "picture", text: "words" };

export function hide() {
  at("asked").hidden = true;
}

export function show(query) {
  if (!query) {
    hide();
    return;
  }
  const shares = Object.entries(query.weights).map(([name, share]) => {
    const percent = `${Math.round(100 * share)} %`;
    const bar = make("span", { class: "bar" }, make("span", { class: "share" }));
    bar.firstChild.style.inlineSize = `${100 * share}%`;
    return make(
      "p",
      { class: "weight" },
      make("span", { class: "of" }, WORDS[name] ?? name),
      bar,
      make("span", { class: "percent" }, percent),
    );
  });
  at("weights").replaceChildren(...shares);
  const bits = [...query.code];
  const ones = bits.filter((bit) => bit === "1").length;
  const pattern = make(
    "div",
    { class: "bits", role: "img", "aria-label": `Code of ${bits.length} bits, ${ones} of them 1` },
    ...bits.map((bit) => make("span", { class: bit === "1" ? "bit on" : "bit" })),
  );
  at("code").replaceChildren(pattern, make("p", { class: "soft" }, `${bits.length} bits`));
  at("asked").hidden = false;
}
