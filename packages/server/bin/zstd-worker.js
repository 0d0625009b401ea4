// Compresses blocks with zstd in a thread of its own: one takes 27 ms, in which nothing else would be
// answered. Takes blocks, answers a frame for each, in order.
import { parentPort } from 'node:worker_threads';
import { compress, init } from '@bokuweb/zstd-wasm';

const level = 3;
const ready = init();
parentPort.on('message', (block) => void answer(block));

async function answer(block) {
  await ready;
  const frame = compress(block, level);
  parentPort.postMessage(frame, [frame.buffer]);
}
