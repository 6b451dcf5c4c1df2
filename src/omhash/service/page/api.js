// The service, as the page asks it.

const STORED = "omhash token";

export class Refused extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

export function useToken(token) {
  sessionStorage.setItem(STORED, token);
}

async function ask(path, options = {}) {
  const token = sessionStorage.getItem(STORED);
  const headers = { ...options.headers };
  if (token) headers.Authorization = `Bearer ${token}`;
  let answer;
  try {
    answer = await fetch(path, { ...options, headers, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("unreachable", "The service does not answer. Was it stopped?");
  }
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({}));
  const { kind = "unknown", message = `The service answered ${answer.status}.` } = told.error ?? {};
  throw new Refused(kind, message);
}

const json = async (path, options) => (await ask(path, options)).json();
const of = (name, what = "") => `/v1/collections/${encodeURIComponent(name)}${what}`;

export const collections = async () => (await json("/v1/collections")).collections;
export const status = (name) => json(of(name));
export const categories = async (name) => (await json(of(name, "/categories"))).categories;
export const items = async (name, limit) => (await json(of(name, `/items?limit=${limit}`))).items;
export const rounds = async (name) => (await json(of(name, "/rounds"))).rounds;

export async function searchLike(name, key, options, signal) {
  const body = JSON.stringify({ ...options, key });
  const headers = { "Content-Type": "application/json" };
  const found = await json(of(name, "/search"), { method: "POST", headers, body, signal });
  return found.results[0];
}

export async function searchRaw(name, { picture, text }, options, signal) {
  const body = new FormData();
  body.append("query", JSON.stringify(text ? { ...options, text } : options));
  if (picture) body.append("picture", picture, "picture");
  const found = await json(of(name, "/search/raw"), { method: "POST", body, signal });
  return found.results[0];
}

// Server-sent events, read from an answer: EventSource cannot send a token.
export async function follow(name, told, signal) {
  const answer = await ask(of(name, "/progress"), { signal });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let left = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (left + value).split("\n\n");
    left = events.pop();
    for (const event of events) {
      const data = event.split("\n").find((line) => line.startsWith("data: "));
      if (data) told(JSON.parse(data.slice(6)));
    }
  }
}
