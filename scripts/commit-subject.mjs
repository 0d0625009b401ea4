// Checks that the subject of the last commit fits into a line of a log; see CONTRIBUTING.md, Commits.
import { run } from './program.mjs';

const mostCharacters = 72;

/** Answers a sentence when the subject is too long, else ''. */
export function faultOfSubject(subject) {
  const { length } = [...subject];
  if (length <= mostCharacters) return '';
  return `The last commit's subject has ${length} characters, ${mostCharacters} at most: ${subject}\n`;
}

/** Where there is no git, or no commit yet, nothing is wrong. */
export async function checkSubject(git = 'git') {
  const log = await run(git, ['log', '-1', '--format=%s']).catch(() => null);
  return log?.code === 0 ? faultOfSubject(log.output.trim()) : '';
}
