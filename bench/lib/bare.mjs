import { fileURLToPath } from 'node:url';
import { cleanEnvironment, startChild, untilReady } from './child.mjs';

const handlerPath = fileURLToPath(new URL('bare-handler.mjs', import.meta.url));

/** The bare handler (bare-handler.mjs) as a child process. */
export function startBareHandler(scope, databaseUrl) {
  return startBare(scope, handlerPath, databaseUrl);
}

/** A script that is given the database's URL and prints its origin, as a child process. */
export async function startBare(scope, script, databaseUrl) {
  const child = startChild(scope, [script, databaseUrl], cleanEnvironment());
  const origin = await untilReady(child, () => /^http:\S+(?=\n)/.exec(child.output())?.[0]);
  return { pid: child.pid, origin };
}

/** The path that makes the bare handler run a query with these arguments. */
export function barePath(query, ...args) {
  return `/${query}?${encodeURIComponent(JSON.stringify(args))}`;
}
