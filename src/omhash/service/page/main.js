// The page: which collection, what is asked, what was found, what is being learned.

import * as api from "./api.js";
import * as asked from "./asked.js";
import { at, make, many } from "./dom.js";
import * as ask from "./query.js";
import * as results from "./results.js";
import * as rounds from "./rounds.js";

const RETRY = 2000;

let collection = null; // what the service told of it
let following = new AbortController();
let searching = new AbortController();
let gone = false; // whether the service did not answer last time

function notice(...words) {
  at("notice").replaceChildren(...words);
  at("notice").hidden = words.length === 0;
}

function complain(error) {
  if (error.name === "AbortError") return;
  if (error.kind === "unauthorised") {
    askForToken();
    return;
  }
  gone = error.kind === "unreachable";
  const again = make("button", { type: "button", class: "plain" }, "Try again");
  again.addEventListener("click", () => {
    notice();
    if (collection) void reload();
    else void start();
  });
  notice(make("span", {}, error.message ?? String(error)), again);
}

function askForToken() {
  const field = make("input", { id: "token", type: "password", autocomplete: "off" });
  const form = make(
    "form",
    { class: "token" },
    make("label", { for: "token" }, "This service asks for a token."),
    field,
    make("button", { class: "main" }, "Go on"),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    api.useToken(field.value.trim());
    notice();
    void start();
  });
  notice(form);
  field.focus();
}

async function start() {
  try {
    const all = await api.collections();
    const picker = at("collection");
    picker.replaceChildren(...all.map((one) => make("option", {}, one.name)));
    picker.disabled = all.length === 0;
    if (!all.length) {
      showNoCollections();
      return;
    }
    const wanted = decodeURIComponent(location.hash.slice(1));
    await open((all.find((one) => one.name === wanted) ?? all[0]).name);
  } catch (error) {
    complain(error);
    if (!collection) results.showNothing("Nothing to show", make("p", {}, "The collections could not be read."));
  }
}

function showNoCollections() {
  at("go").disabled = at("text").disabled = at("file").disabled = true;
  rounds.show([]);
  results.showNothing(
    "No collections yet",
    make("p", {}, "A collection of your own pictures is made with one command:"),
    make("pre", {}, make("code", {}, "omhash ingest pets.omhash --folder pictures/ --create")),
    make("p", {}, "Load this page again afterwards."),
  );
}

// A browser keeps few connections to one service: a page that nobody sees gives its own up.
function followWhileSeen() {
  following.abort();
  following = new AbortController();
  if (collection && !document.hidden) void follow(collection.name, following.signal);
}

async function open(name) {
  following.abort();
  at("collection").value = name;
  history.replaceState(null, "", `#${encodeURIComponent(name)}`);
  ask.clear();
  asked.hide();
  collection = { name };
  await reload();
  followWhileSeen();
}

async function reload() {
  try {
    const { name } = collection;
    const [told, names, learned] = await Promise.all([
      api.status(name), api.categories(name), api.rounds(name),
    ]);
    collection = told;
    gone = false;
    notice();
    document.title = `${name} – omhash`;
    facts(told);
    ask.showCategories(names);
    rounds.show(learned);
    const hint = at("hint");
    for (const id of ["text", "go", "file"]) at(id).disabled = !told.raw;
    at("picture").classList.toggle("off", !told.raw);
    hint.hidden = told.raw;
    hint.textContent =
      "This collection was made of features, so pictures and words cannot be turned into a query. Click an item to find others like it.";
    if (ask.query.like || ask.query.picture || ask.text()) await search();
    else await lookAround();
  } catch (error) {
    complain(error);
    results.stopWaiting();
  }
}

function facts(told) {
  at("facts").textContent = [
    many(told.items, "item", "items"),
    many(told.categories, "category", "categories"),
    `${told.n_bits} bits`,
  ].join(" · ");
}

async function lookAround() {
  if (!collection.items) {
    results.showNothing(
      "Nothing here yet",
      make("p", {}, "The collection is empty. What it learns appears here, round by round."),
    );
    return;
  }
  const some = await api.items(collection.name, 24);
  results.show(some, {
    title: "Look around",
    count: "Click an item to find others like it",
    bits: collection.n_bits,
    choose: searchLike,
  });
  asked.hide();
}

function searchLike(item) {
  ask.clear();
  ask.query.like = item;
  void search();
}

async function search() {
  const { like, picture } = ask.query;
  const text = ask.text();
  const { name } = collection;
  if (!like && !picture && !text) {
    await lookAround().catch(complain);
    return;
  }
  searching.abort();
  searching = new AbortController();
  const { signal } = searching;
  const begun = performance.now();
  const slow = setTimeout(results.showWaiting, 120);
  try {
    const found = like
      ? await api.searchLike(name, like.key, ask.options(), signal)
      : await api.searchRaw(name, { picture, text }, ask.options(), signal);
    clearTimeout(slow);
    notice();
    asked.show(found.query);
    const title = like ? `Like “${results.titled(like)}”` : text ? `“${text}”` : "Like the picture";
    if (found.hits.length) {
      results.show(found.hits, {
        title: picture && text ? `${title} and the picture` : title,
        count: results.summary(found.hits, performance.now() - begun),
        bits: collection.n_bits,
        choose: searchLike,
      });
    } else {
      results.showNothing(
        title,
        make("p", {}, ask.query.chosen.length
          ? "Nothing has these categories. Remove one of them to find more."
          : "The collection holds nothing to find yet."),
      );
    }
  } catch (error) {
    clearTimeout(slow);
    if (error.name !== "AbortError") results.stopWaiting();
    complain(error);
  }
}

async function follow(name, signal) {
  let generation = null;
  let running = false;
  while (!signal.aborted) {
    try {
      await api.follow(name, (state) => {
        if (gone) void reload();
        rounds.showLive("live", true);
        rounds.showRunning(state);
        // A round is measured once more after it is stored: then its figures are whole.
        const ended = running && !state.running;
        if (ended || (generation !== null && generation !== state.generation)) void grown(name);
        ({ generation } = state);
        running = Boolean(state.running);
      }, signal);
    } catch (error) {
      if (error.name === "AbortError" || signal.aborted) return;
      if (error.kind === "unauthorised") return;
    }
    rounds.showLive("not connected", false);
    if (!gone) complain(new api.Refused("unreachable", "The service does not answer. Was it stopped?"));
    await new Promise((wake) => setTimeout(wake, RETRY));
  }
}

async function grown(name) {
  try {
    const [told, names, learned] = await Promise.all([
      api.status(name), api.categories(name), api.rounds(name),
    ]);
    if (collection.name !== name) return;
    const first = !collection.items;
    collection = told;
    facts(told);
    ask.showCategories(names);
    rounds.show(learned);
    if (first) await reload();
  } catch (error) {
    complain(error);
  }
}

ask.listen(
  () => {
    if (ask.query.picture || ask.text()) ask.query.like = null;
    void search();
  },
  () => {
    ask.query.like = null;
    void search();
  },
  (words) => complain(new Error(words)),
);
document.addEventListener("visibilitychange", followWhileSeen);
window.addEventListener("pagehide", () => following.abort());
window.addEventListener("pageshow", (event) => event.persisted && followWhileSeen());
at("collection").addEventListener("change", (event) => void open(event.target.value));
ask.dials();
void start();
