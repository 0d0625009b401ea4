import { readdir, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { loadSettings } from '../../config/settings.ts';
import { AppError } from '../../kernel/errors.ts';
import { makeFolders } from '../../platform/make-folders.ts';
import { shellQuote } from '../format.ts';
import { usage, wholeNumber } from '../help.ts';
import { command, signInOption } from '../verb.ts';

/** Says of a data folder that the demo made it, and so that what lies there may be changed and removed. */
const mark = 'made-by-svcctl-demo';

export const demo = command({
  description:
    'Shows the service with real data, in a data folder of its own: ./svcctl-demo, or SVC_DATA_DIR where that is empty or an earlier demo. It runs the service, stores 150,000 flight departures of 2001, tags some, and reports incidents to receivers on this machine that succeed, hang, fail and recover, until Ctrl-C. The next one goes on with what is there.',
  examples: [
    'svcctl demo',
    'svcctl demo --limit 20000 --cold 2001-05-01',
    'SVC_PORT=9000 svcctl demo',
  ],
  options: [
    ['--limit <n>', 'store only n departures, spread over the half-year', wholeNumber(1)],
    ['--cold <day>', 'then move what happened before that day to the cold tier'],
    signInOption,
  ],
  async act({ io }, { limit, cold, printSignIn }) {
    const { databaseUrl, blobUrl } = loadSettings(io.env);
    if (databaseUrl !== undefined || blobUrl !== undefined) {
      const name = databaseUrl === undefined ? 'SVC_BLOB_URL' : 'DATABASE_URL';
      throw usage(`${name} is set, and what lies there may be in use. Unset it for the demo.`);
    }
    const dataDir = resolve(io.cwd, io.env.SVC_DATA_DIR || 'svcctl-demo');
    await claimFolder(dataDir);
    const shown = shellQuote(relative(io.cwd, dataDir) || '.');
    // Plain files beside the bundle, as few ever need them: `npm run demo` is made of the same.
    const { runDemo } = await import('../../../demo/demo.mjs');
    const code = await runDemo({
      dataDir,
      env: io.env,
      stop: io.signal,
      flags: printSignIn ? ['--print-sign-in'] : [],
      limit,
      cold,
      svcctl: 'svcctl',
      // Whoever has signed in to another service would otherwise ask that one.
      connect: (url) => `  export SVC_URL=${url} SVC_TOKEN="$(cat ${shown}/admin-token)"\n`,
      farewell: `Ctrl-C ends it; svcctl demo goes on with it. To remove all of it: rm -r ${shown}`,
    });
    if (code === 0 || io.signal.aborted) return;
    throw new AppError('internal_error', {
      detail: `The service of the demo ended with exit code ${code}. What it said stands above.`,
    });
  },
});

/** Throws unless the folder is new, empty, or one that a demo has made. */
async function claimFolder(dataDir: string): Promise<void> {
  try {
    await makeFolders(dataDir, 0o700);
  } catch (error) {
    throw new AppError('settings_invalid', {
      detail: `SVC_DATA_DIR: ${dataDir} cannot be used: ${(error as Error).message}. Set another folder.`,
      cause: error,
    });
  }
  const names = await readdir(dataDir);
  if (names.includes(mark)) return;
  if (names.length > 0) {
    throw usage(
      `${dataDir} holds something that is not the demo's. Set SVC_DATA_DIR to an empty folder.`,
    );
  }
  await writeFile(join(dataDir, mark), '');
}
