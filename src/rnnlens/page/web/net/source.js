// Whoever answers the page's questions: a server, a notebook's kernel, the engine in a published file, or nobody.

import { Refusal } from "../base/refusal.js";

/** @typedef {import("../base/schema.d.ts").Gets & Posts} Questions */
/**
 * `can` says whether there is an answer at a path; `file` fetches what only Python writes, a page or a figure for print.
 * @typedef {{ask: <P extends keyof Questions>(path: P, asked: Questions[P]["asked"], signal?: AbortSignal) => Promise<Questions[P]["answer"]>,
 *   can: (path: string) => boolean, file: (path: string, asked?: object) => Promise<Blob>,
 *   patience?: number}} Source the last: ms after which a lower bound stands in for a divergence
 */

const GOT = new Set(["api/runs", "api/accuracy"]); // what a server has, by a query; all else is posted

/** @type {Source} */
export const server = {
  async ask(path, asked, signal) {
    const query = GOT.has(path) ? new URLSearchParams(/** @type {Record<string, string>} */ (asked)) : null;
    const how = { ...(query ? {} : posted(asked)), ...(signal ? { signal } : {}) };
    return answered(await fetch(query?.size ? `${path}?${query}` : path, how));
  },

  can: () => true,

  async file(path, asked) {
    const answer = await fetch(path, asked && posted(asked));
    return answer.ok ? answer.blob() : answered(answer);
  },
};

/** A file has what it was saved with. @type {Source} */
export const nobody = { ask: () => alone(), can: () => false, file: () => alone() };

/** @returns {Promise<never>} */
function alone() {
  return Promise.reject(new Refusal("a saved page answers what it was saved with"));
}

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
      tell(error instanceof Refusal ? error.message : "the server does not answer; asking again");
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}
