// npm test: installs and builds what is missing, checks, and runs the tests but those of the kind slow, which npm run
// test:slow runs before it plays a minute of random histories with a new seed. Arguments of npm test go to vitest, and may
// name any test. Each ends with one line `N passed, N failed`.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { build } from './build.mjs';
import { check } from './check.mjs';
import { installed, isMain, root, run, runLeavingNothing } from './program.mjs';
import { ensureInstalled } from './setup.mjs';

/**
 * Answers the counts of a vitest JSON report. A file that failed without a failed test in it counts as one failure: it
 * could not be loaded, or one of its hooks threw.
 */
export function countResults(report) {
  const brokenFiles = report.testResults.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  );
  return { passed: report.numPassedTests, failed: report.numFailedTests + brokenFiles.length };
}

/** A line for each failure: its file, its name and how its message begins. They end a long output, where one looks first. */
export function describeFailures(report) {
  return report.testResults
    .filter(({ status }) => status === 'failed')
    .flatMap(({ name, message, assertionResults }) => {
      const failed = assertionResults.filter((test) => test.status === 'failed');
      if (failed.length === 0) return [describeFailure(name, '', message)];
      return failed.map((test) =>
        describeFailure(name, ` > ${test.fullName}`, test.failureMessages.join('\n')),
      );
    });
}

function describeFailure(file, test, message) {
  const begin = stripVTControlCharacters(message).trim().split('\n').slice(0, 3).join(' ');
  return `failed: ${relative(process.cwd(), file)}${test}: ${begin.slice(0, 400)}`;
}

async function main(args) {
  await ensureInstalled();
  await build();
  const isSlow = args.includes('--slow');
  const isClean = isSlow || (await check());
  const kind = isSlow ? ['--project=slow'] : ['--project=!slow'];
  const { passed, failed } = await runTests(isSlow || args.length === 0 ? kind : args);
  const isHeld = !isSlow || (await playMinute());
  if (!isClean) say('npm run check failed (see above); it counts as one failed test.');
  if (!isHeld) say('npm run sim failed (see above); it counts as one failed test.');
  finish(passed, failed + [isClean, isHeld].filter((held) => !held).length);
}

/** Alone, since what it finds refused in calm is a fault. A history that fails leaves its folder, with the logs. */
async function playMinute() {
  const script = join(root, 'scripts', 'sim.mjs');
  const args = [script, '--minutes', '1', '--shrink-minutes', '0'];
  const { code } = await run(process.execPath, args, { inherit: true });
  return code === 0;
}

async function runTests(args) {
  const folder = mkdtempSync(join(tmpdir(), 'svcctl-report-'));
  const report = join(folder, 'report.json');
  try {
    const { code } = await runLeavingNothing(installed('vitest'), [
      'run',
      ...['--reporter=default', '--reporter=json', `--outputFile.json=${report}`],
      ...args,
    ]);
    const results = JSON.parse(readFileSync(report, 'utf8'));
    const counts = countResults(results);
    for (const line of describeFailures(results)) say(line);
    if (code === 0 || counts.failed > 0) return counts;
    say(
      `vitest ended with ${code} though no test failed (see above); it counts as one failed test.`,
    );
    return { ...counts, failed: 1 };
  } catch (error) {
    say(`vitest did not finish: ${error.message}`);
    return { passed: 0, failed: 1 };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function say(text) {
  process.stdout.write(`${text}\n`);
}

function finish(passed, failed) {
  say(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

if (isMain(import.meta.url)) {
  await main(process.argv.slice(2)).catch((error) => {
    say(`error: ${error.message}`);
    finish(0, 1);
  });
}
