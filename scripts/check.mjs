// npm run check: finds every fault that can be found without running the code. Stops at the first step that finds one.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkArchitecture, checkSecurity } from './architecture.mjs';
import { build, forgetBuilds } from './build.mjs';
import { checkSubject } from './commit-subject.mjs';
import { checkDocComments } from './doc-comments.mjs';
import { installed, isMain, root, run } from './program.mjs';
import { checkStyleWords } from './style-words.mjs';

/** The steps, by name. Each answers a text that says what is wrong, or '' when nothing is. */
const steps = {
  'types and typed lint': checkTypes,
  'lint and format': () => faultsOf(installed('biome'), ['check', '--error-on-warnings', '.']),
  'import rules': () => faultsOf(process.execPath, ['scripts/import-rules.mjs']),
  'doc comments': async () => checkDocComments(),
  'style words': async () => checkStyleWords(),
  docs: checkDocs,
  architecture: async () => checkArchitecture() + checkSecurity(),
  lockfile: checkLockfile,
  'commit subject': checkSubject,
};

/** Runs the steps in order and prints one line each; answers whether all passed. */
export async function check() {
  // Each of these leaves a part of two cores idle.
  const begun = {};
  for (const name of ['lint and format', 'types and typed lint']) begun[name] = begin(steps[name]);
  for (const [name, step] of Object.entries(steps)) {
    const start = performance.now();
    const faults = await (begun[name] ?? begin(step));
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    if (faults === '') {
      process.stdout.write(`✓ ${name} ${seconds} s\n`);
      continue;
    }
    process.stdout.write(`${faults.trimEnd()}\n✗ ${name} ${seconds} s: see above\n`);
    return false;
  }
  return true;
}

/** The console is not needed, and the sources are among what is checked. */
const unchecked = { withConsole: false, checksTypes: false };

const begin = (step) => step().catch((error) => error.message);

async function faultsOf(command, args) {
  const { code, output } = await run(command, args);
  return code === 0 ? '' : output || `${command} ended with ${code}`;
}

/** One program looks at the types and, while it has them, at the rules that need them: apart, each would take as long. */
async function checkTypes() {
  // Benches and the simulator use the built program, so they are checked against what it declares.
  await build(unchecked);
  const args = ['--type-aware', '--type-check', '--deny-warnings', '.'];
  const faults = await faultsOf(installed('oxlint'), args);
  if (faults !== '') forgetBuilds();
  return faults;
}

function checkDocs() {
  // This runs in a process of its own, because this process may have loaded modules from before the build.
  return faultsOf(process.execPath, ['scripts/generate-docs.mjs', '--check']);
}

/** Refuses download addresses in lockfiles: they would bind every install to the registry that its author used. */
async function checkLockfile() {
  const bound = ['package-lock.json', 'bench/peers/package-lock.json'].flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .flatMap((line, index) =>
        line.includes('"resolved": "http') ? [`${file}:${index + 1} ${line.trim()}`] : [],
      ),
  );
  if (bound.length === 0) return '';
  return `${bound.slice(0, 5).join('\n')}\n${bound.length} download addresses. Run: npm install --omit-lockfile-registry-resolved`;
}

if (isMain(import.meta.url)) process.exitCode = (await check()) ? 0 : 1;
