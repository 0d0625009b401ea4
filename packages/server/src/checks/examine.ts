import { AppError } from '../kernel/errors.ts';
import type { Labelled } from '../platform/metrics/figures.ts';
import { accessChecks } from './access.ts';
import { type Check, type Look, type Problem, rowOf, type ToldCheck } from './check.ts';
import type { Finding, Trouble } from './contract.ts';
import { databaseChecks } from './database.ts';
import { exportChecks } from './exports.ts';
import type { Found } from './notices/reconcile.ts';
import { machineChecks, processChecks } from './processes.ts';
import { retentionChecks } from './retention.ts';
import {
  checkNames,
  checkSeverities,
  type FindingSeverity,
  noticeTexts,
  type TroubleKind,
  troubleKinds,
} from './values.ts';
import { webhookChecks } from './webhooks.ts';

/** All that the service checks, in the order in which svcctl doctor tells it. */
export const checks: readonly (Check | ToldCheck)[] = [
  ...[...processChecks, ...machineChecks, ...databaseChecks],
  ...[...retentionChecks, ...webhookChecks, ...exportChecks, ...accessChecks],
].toSorted((one, other) => placeOf(one) - placeOf(other));

function placeOf(check: Check): number {
  const row = rowOf(check);
  return row === null ? checkNames.length : checkNames.indexOf(row);
}

const isTold = (check: Check | ToldCheck): check is ToldCheck => 'holdSeconds' in check;
const toldChecks = checks.filter(isTold);

/** Makes these checks one by one, on one connection. Each row has a finding, and `ok` stands beside no other. */
export async function examine<To>(
  own: readonly Check<To>[],
  to: To,
  signal?: AbortSignal,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const check of own) {
    signal?.throwIfAborted();
    const row = rowOf(check);
    if (row !== null) findings.push(...(await examineOne(check, row, to)));
  }
  const wrong = new Set(findings.filter(({ severity }) => severity !== 'ok').map(rowIn));
  return findings.filter((finding) => finding.severity !== 'ok' || !wrong.has(rowIn(finding)));
}

const rowIn = ({ check }: Finding) => check;

async function examineOne<To>(check: Check<To>, row: Finding['check'], to: To): Promise<Finding[]> {
  const { name, severity, well, remedy } = check;
  const own = { check: row, name, id: null, remedy: null, command: null };
  try {
    const problems = await check.look(to);
    if (problems.length === 0) return [{ ...own, severity: 'ok', found: well }];
    return problems.map((problem) => ({
      ...own,
      id: problem.id ?? null,
      found: problem.text,
      severity: findingSeverities[problem.severity ?? severity],
      ...(problem.severity === 'ok'
        ? {}
        : {
            remedy: problem.remedy ?? remedy,
            command: problem.command ?? check.command?.(problem.id) ?? null,
          }),
    }));
  } catch (error) {
    const why = error instanceof AppError ? error.detail : String(error);
    return [{ ...own, severity: 'unchecked', found: `could not be checked: ${why}` }];
  }
}

const findingSeverities = {
  ok: 'ok',
  warning: 'warning',
  critical: 'problem',
  unchecked: 'unchecked',
} as const satisfies Record<string, FindingSeverity>;

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

function toTrouble(kind: TroubleKind, check: ToldCheck, problems: readonly Problem[]): Trouble {
  const count = problems.reduce((sum, problem) => sum + (problem.count ?? 1), 0);
  const [first] = problems;
  const only = problems.length === 1 ? first : undefined;
  const text = only?.text ?? check.many?.(count) ?? first?.text ?? '';
  return {
    kind,
    count,
    id: only?.id ?? null,
    severity: check.severity,
    text,
    remedy: check.remedy,
    command: check.command(only?.id),
    place: check.place(only?.id),
  };
}

/** What is wrong as people are told of it: each endpoint, target and machine by itself. */
export async function findForNotices(look: Look): Promise<Found[]> {
  const found: Found[] = [];
  for (const check of toldChecks) {
    found.push(...(await check.look(look)).map((problem) => toFound(check, problem)));
  }
  return found;
}

function toFound(check: ToldCheck, { text, id, tenant = null, since = null }: Problem): Found {
  const { name: kind, severity, holdSeconds, isRepeated = true, isSingle = false } = check;
  return {
    kind,
    severity,
    holdSeconds,
    isRepeated,
    tenant,
    since,
    subject: isSingle ? '' : (id ?? ''),
    ref: isSingle ? (id ?? '') : '',
    title: capitalized(text),
    advice: adviceOf(check, id),
    place: check.place(id),
  };
}

const capitalized = (text: string) => text.replace(/^./, (letter) => letter.toUpperCase());

function adviceOf(check: ToldCheck, id?: string): string {
  return `${check.remedy} Next: ${check.command(id)}.`;
}

/** For Prometheus, an alert of each check that the metrics and people are told of: generate-docs.mjs writes them down. */
export const alerts = toldChecks
  .filter((check) => rowOf(check) !== null)
  .map((check) => ({
    alert: `Svcctl${check.name.split('_').map(capitalized).join('')}`,
    expr: `max by (job) (svcctl_trouble{check="${check.name}"}) > 0`,
    for: `${check.holdSeconds / 60}m`,
    severity: check.severity,
    summary: `${capitalized(noticeTexts[check.name])}.`,
    description: adviceOf(check),
  }));

/** For the metrics: what quick or told checks find, 1 under how bad it is, or 0 under how bad it would be. */
export async function readFigure(look: Look): Promise<Labelled[]> {
  const figure: Labelled[] = [];
  for (const check of checks) {
    const { name, severity, isQuick } = check;
    if (rowOf(check) === null || !(isQuick || isTold(check))) continue;
    const found = (await check.look(look)).map((problem) => problem.severity ?? severity);
    const worst = checkSeverities.findLast((each) => found.includes(each));
    const labels = { check: name, severity: worst ?? severity };
    figure.push({ labels, value: Number(worst !== undefined) });
  }
  return figure;
}

/** The check that finds troubles of this kind. */
export function checkOf(kind: TroubleKind): ToldCheck {
  const check = toldChecks.find(({ name }) => name === kind);
  if (check === undefined) throw new Error(`nothing checks ${kind}`);
  return check;
}
