// Whoever answers the page's questions: the server that sent it, or the engine in a published file.

import { Refusal } from "../base/refusal.js";

/** @typedef {import("../base/schema.d.ts").Gets} Gets */
/** @typedef {import("../base/schema.d.ts").Posts} Posts */
/**
 * `file` fetches what only Python writes, a page or a figure for print; null where there is no Python.
 * @typedef {{ask: <P extends keyof Posts>(path: P, asked: Posts[P]["asked"], signal?: AbortSignal) => Promise<Posts[P]["answer"]>,
 *   get: <P extends keyof Gets>(path: P, asked: Gets[P]["asked"]) => Promise<Gets[P]["answer"]>,
 *   file: ((path: string, asked?: object) => Promise<Blob>) | null}} Source
 */

/** @type {Source} */
export const server = {
  /** Post a question. */
  async ask(path, asked, signal) {
    return answered(await fetch(path, signal ? { ...posted(asked), signal } : posted(asked)));
  },

  /** Get what the server has. */
  async get(path, asked) {
    const query = new URLSearchParams(asked);
    return answered(await fetch(query.size ? `${path}?${query}` : path));
  },

  async file(path, asked) {
    const answer = await fetch(path, asked && posted(asked));
    return answer.ok ? answer.blob() : answered(answer);
  },
};

/** @param {object} asked */
function posted(asked) {
  return { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(asked) };
}

/** What an answer holds; a refusal fails with its reason. @param {Response} answer */
async function answered(answer) {
  const found = await answer.json().catch(() => null);
  if (!answer.ok) throw new Refusal(found?.error ?? `the server answered ${answer.status}`, answer.status);
  if (found === null) throw new Refusal("the server's answer could not be read", answer.status);
  return found;
}

/**
 * Ask until there is an answer; what is wrong is told meanwhile, and then that nothing is.
 * @template T @param {() => Promise<T>} question @param {(told: string) => void} tell
 */
export async function patiently(question, tell) {
  for (let pause = 400; ; pause = Math.min(6400, pause * 2)) {
    try {
      const answer = await question();
      tell("");
      return answer;
    } catch (error) {
      tell(error instanceof Refusal ? error.message : "the server does not answer; it is asked again");
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}
