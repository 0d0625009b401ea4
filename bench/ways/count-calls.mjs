// Loaded into the service before its program (`--import`): answers each message with the functions that were called since
// the last one, as V8 counts them.
import { Session } from 'node:inspector/promises';

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

process.on('message', () => void answer());

async function answer() {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const called = result.flatMap(({ url, functions }) =>
    functions
      .filter(({ ranges: [whole] }) => whole.count > 0)
      .map(({ functionName: name, ranges: [{ startOffset }] }) => ({ url, name, startOffset })),
  );
  process.send?.(called);
}
// The question does not keep the service from ending.
process.channel?.unref();
