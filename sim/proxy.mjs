import { connect, createServer } from 'node:net';

/**
 * Stands between the service and what it speaks to, byte for byte, and can be slow, deaf or cut.
 *
 * @param {{ defer: (closer: () => unknown) => void }} scope
 * @param {() => number} portOf the port behind it, asked for each connection
 */
export async function startProxy(scope, portOf) {
  const pairs = new Set();
  let delayMillis = 0;
  let isDeaf = false;

  const server = createServer((near) => {
    const far = connect(portOf(), '127.0.0.1');
    const pair = [near, far];
    pairs.add(pair);
    const end = () => {
      pairs.delete(pair);
      for (const socket of pair) socket.destroy();
    };
    for (const socket of pair) {
      socket.setNoDelay(true);
      socket.on('error', end).on('close', end);
      if (isDeaf) socket.pause();
    }
    carry(near, far);
    carry(far, near);
  });

  /** In order, each piece as late as the delay says when it comes. */
  function carry(from, to) {
    let last = Promise.resolve();
    from.on('data', (bytes) => {
      if (delayMillis === 0) {
        last = last.then(() => hand(bytes));
        return;
      }
      from.pause();
      const late = new Promise((resolve) => setTimeout(resolve, delayMillis));
      last = Promise.all([last, late]).then(() => {
        hand(bytes);
        if (!isDeaf) from.resume();
      });
    });
    from.on('end', () => void last.then(() => to.end()));

    function hand(bytes) {
      if (to.destroyed || to.write(bytes)) return;
      from.pause();
      to.once('drain', () => {
        if (!isDeaf) from.resume();
      });
    }
  }

  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const cut = () => {
    for (const pair of pairs) for (const socket of pair) socket.resetAndDestroy();
  };
  scope.defer(() => {
    cut();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    /** Resets all connections. New ones may be made. */
    cut,
    slow(millis) {
      delayMillis = millis;
    },
    /** Takes connections and bytes, and hands none on. */
    deafen() {
      isDeaf = true;
      for (const pair of pairs) for (const socket of pair) socket.pause();
    },
    heal() {
      delayMillis = 0;
      isDeaf = false;
      for (const pair of pairs) for (const socket of pair) socket.resume();
    },
  };
}
