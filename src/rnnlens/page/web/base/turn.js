// Long work in slices: whatever else waits, a key or a frame, has its turn between two of them.

/** Until whatever waits has had its turn; a timer would wait longer. @returns {Promise<void>} */
export function turn() {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
