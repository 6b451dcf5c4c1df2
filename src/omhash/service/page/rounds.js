// The rounds as a growing timeline, and the one that runs.

import { at, make, many, number } from "./dom.js";

const STAGES = {
  reading: "Reading what was sent",
  encoding: "Looking at pictures and words",
  measuring: "Measuring how well it finds",
  learning: "Learning",
};

const score = (value) => (value === null || value === undefined ? "–" : value.toFixed(3));

function quality(map) {
  if (!map || (map.before === null && map.after === null)) return "";
  const bar = make("span", { class: "map", "aria-hidden": "true" });
  for (const [when, value] of [["before", map.before], ["after", map.after]]) {
    const part = make("span", { class: when });
    part.style.inlineSize = `${100 * (value ?? 0)}%`;
    bar.append(part);
  }
  return make(
    "p",
    { class: "quality", title: "Mean average precision of searching with this round's items, before and after they were learned; items that were never learned find less" },
    make("span", {}, `MAP ${score(map.before)} → ${score(map.after)}`),
    bar,
  );
}

function entry(round, total) {
  const names = round.new_categories;
  const some = names.slice(0, 6).join(", ") + (names.length > 6 ? ", …" : "");
  return make(
    "li",
    { class: "entry" },
    make(
      "p",
      { class: "line" },
      make("strong", {}, round.id),
      make("span", { class: "soft" }, `${round.seconds.toFixed(1)} s`),
    ),
    make(
      "p",
      {},
      `+ ${many(round.items - round.replaced, "item", "items")}`,
      make("span", { class: "soft" }, ` to ${number(total)}`),
    ),
    names.length
      ? make("p", { class: "soft" }, `${many(names.length, "new category", "new categories")}: ${some}`)
      : "",
    quality(round.map),
  );
}

export function show(rounds) {
  let total = 0;
  const entries = rounds.map((round) => {
    total += round.items - round.replaced;
    return entry(round, total);
  });
  at("rounds").replaceChildren(...entries.reverse());
  at("no-rounds").hidden = rounds.length > 0;
}

export function showRunning(state) {
  const { running, failed } = state;
  const place = at("running");
  place.hidden = !running && !failed;
  place.classList.toggle("failed", Boolean(failed));
  if (running) {
    const counted = running.total > 0 && running.stage === "encoding";
    const bar = make("progress", {
      "aria-label": "The round that runs",
      ...(counted ? { value: running.done, max: running.total } : {}),
    });
    place.replaceChildren(
      make(
        "p",
        { class: "line" },
        make("strong", {}, running.round_id ?? "A round"),
        make("span", { class: "soft" }, `${Math.round(running.seconds)} s`),
      ),
      make(
        "p",
        {},
        STAGES[running.stage] ?? running.stage,
        counted ? ` ${number(running.done)} of ${number(running.total)}` : "",
      ),
      bar,
    );
  } else if (failed) {
    place.replaceChildren(
      make("p", {}, make("strong", {}, "The last round was not learned.")),
      make("p", {}, failed),
    );
  }
}

export function showLive(words, alive) {
  at("live").textContent = words;
  at("live").classList.toggle("on", alive);
}
