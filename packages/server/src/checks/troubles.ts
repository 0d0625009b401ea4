import type { Check, Problem } from './check.ts';
import type { Trouble } from './contract.ts';
import type { Look } from './look.ts';
import { machineChecks } from './machines.ts';
import type { Found } from './notices/reconcile.ts';
import { retentionChecks } from './retention.ts';
import { type TroubleKind, troubleKinds } from './values.ts';
import { webhookChecks } from './webhooks.ts';

/** All that OVERVIEW and notices tell. */
const checks: readonly Check[] = [...retentionChecks, ...webhookChecks, ...machineChecks];

/** What is wrong, the worst first. Empty means that all is well, as far as the look may see. */
export async function findTroubles(look: Look): Promise<Trouble[]> {
  const troubles: Trouble[] = [];
  for (const kind of troubleKinds) {
    const check = checkOf(kind);
    const problems = await check.look(look);
    if (problems.length > 0) troubles.push(toTrouble(kind, check, problems));
  }
  return troubles;
}

function toTrouble(kind: TroubleKind, check: Check, problems: readonly Problem[]): Trouble {
  const count = problems.reduce((sum, problem) => sum + (problem.count ?? 1), 0);
  const [first] = problems;
  const only = problems.length === 1 ? first : undefined;
  const text = only?.text ?? check.many?.(count) ?? first?.text ?? '';
  return {
    ...{ kind, count, id: only?.id ?? null, severity: check.severity, text },
    remedy: check.remedy,
    command: check.command?.(only?.id) ?? null,
    place: check.place(only?.id),
  };
}

/** What is wrong as people are told of it: each endpoint, target and machine by itself. */
export async function findForNotices(look: Look): Promise<Found[]> {
  const found: Found[] = [];
  for (const check of checks) {
    found.push(...(await check.look(look)).map((problem) => toFound(check, problem)));
  }
  return found;
}

function toFound(check: Check, { text, id, tenant = null, since = null }: Problem): Found {
  const { name: kind, severity, holdSeconds, isRepeated = true, isSingle = false } = check;
  const command = check.command?.(id);
  return {
    ...{ kind, severity, holdSeconds, isRepeated, tenant, since },
    subject: isSingle ? '' : (id ?? ''),
    ref: isSingle ? (id ?? '') : '',
    title: text.replace(/^./, (letter) => letter.toUpperCase()),
    advice: command === undefined ? check.remedy : `${check.remedy} Next: ${command}.`,
    place: check.place(id),
  };
}

/** The check that finds troubles of this kind. */
export function checkOf(kind: TroubleKind): Check {
  const check = checks.find(({ name }) => name === kind);
  if (check === undefined) throw new Error(`nothing checks ${kind}`);
  return check;
}
