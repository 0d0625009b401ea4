import { fileURLToPath } from 'node:url';
import { cleanEnvironment, startChild, untilReady } from './child.mjs';

const handlerPath = fileURLToPath(new URL('bare-handler.mjs', import.meta.url));

/** The bare handler (bare-handler.mjs) as a child process. */
export async function startBareHandler(scope, databaseUrl) {
  const child = startChild(scope, [handlerPath, databaseUrl], cleanEnvironment());
  const origin = await untilReady(child, () => /^http:\S+(?=\n)/.exec(child.output())?.[0]);
  return { pid: child.pid, origin };
}

/** The path that makes the bare handler run a query with these arguments. */
export function barePath(query, ...args) {
  return `/${query}?${encodeURIComponent(JSON.stringify(args))}`;
}
