import { AppError } from '../kernel/errors.ts';
import type { Finding } from './contract.ts';
import { databaseChecks } from './database.ts';
import { processChecks } from './processes.ts';
import type { Check, Examined } from './row.ts';
import { workChecks } from './work.ts';

const checks: readonly Check[] = [...processChecks, ...databaseChecks, ...workChecks];

/**
 * Checks one thing after the other, so that it takes no more than one connection from the others. Each check has one
 * finding at least. With `isQuick` only those checks are made that read next to nothing.
 */
export async function examine(
  to: Examined,
  { isQuick = false, signal }: { isQuick?: boolean; signal?: AbortSignal } = {},
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const check of checks) {
    signal?.throwIfAborted();
    if (isQuick && check.isQuick !== true) continue;
    findings.push(...(await findingsOf(check, to)));
  }
  return findings;
}

async function findingsOf(check: Check, to: Examined): Promise<Finding[]> {
  const { name, severity, well, remedy } = check;
  try {
    const wrong = await check.run(to);
    if (wrong.length === 0) return [{ check: name, severity: 'ok', found: well, remedy: null }];
    return wrong.map((each) => ({
      ...{ check: name, severity: each.severity ?? severity, found: each.found, remedy },
    }));
  } catch (error) {
    const why = error instanceof AppError ? error.detail : String(error);
    return [
      { check: name, severity: 'unchecked', found: `could not be checked: ${why}`, remedy: null },
    ];
  }
}
