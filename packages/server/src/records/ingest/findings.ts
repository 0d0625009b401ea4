import type { DryRunAnswer, DryRunSummary, IngestAnswer, rejectCodes } from '../contract.ts';
import { RecordLinter, type WarningCode } from './lint-record.ts';
import type { IncomingRecord } from './record-reader.ts';

/** One thing that is wrong with a record, or that other readers choke on. */
export type Finding = {
  /** The position of the record in its batch, or of its line in the stream, from 0. */
  index: number;
  /** An error: the record is refused. A warning: it is stored. */
  severity: 'error' | 'warning';
  code: keyof typeof rejectCodes | WarningCode;
  /** A JSON pointer into the record; '' means the whole record, or that nobody knows. */
  path: string;
  /** Null when it could not be read. */
  tenant: string | null;
  message: string;
};

/** More tenants are counted together. */
const mostTenants = 1000;

/** Collects what a check of records finds. Memory is bounded: it counts by code and tenant, and tells the rest on. */
export class Findings {
  readonly #onFinding: (finding: Finding) => void;
  readonly #linter = new RecordLinter();
  readonly #codes = new Map<Finding['code'], DryRunSummary['by_code'][number]>();
  readonly #tenants = new Map<string | null, DryRunSummary['by_tenant'][number]>();

  constructor(onFinding: (finding: Finding) => void) {
    this.#onFinding = onFinding;
  }

  add(finding: Finding): void {
    const { code, severity, tenant } = finding;
    const ofCode = this.#codes.get(code) ?? { code, severity, count: 0 };
    ofCode.count += 1;
    this.#codes.set(code, ofCode);
    const isCounted = this.#tenants.has(tenant) || this.#tenants.size < mostTenants;
    const counted = isCounted ? tenant : null;
    const ofTenant = this.#tenants.get(counted) ?? { tenant: counted, errors: 0, warnings: 0 };
    ofTenant[severity === 'error' ? 'errors' : 'warnings'] += 1;
    this.#tenants.set(counted, ofTenant);
    this.#onFinding(finding);
  }

  /** Looks into a record that was read without a fault. */
  lint(index: number, record: IncomingRecord): void {
    for (const warning of this.#linter.lint(record)) {
      this.add({ index, severity: 'warning', tenant: record.tenant, ...warning });
    }
  }

  /** What was found so far, the most frequent first. */
  summary(): DryRunSummary {
    const byCode = [...this.#codes.values()].sort((a, b) => b.count - a.count);
    const total = (one: { errors: number; warnings: number }) => one.errors + one.warnings;
    return {
      warning_count: byCode.reduce(
        (sum, { severity, count }) => sum + (severity === 'warning' ? count : 0),
        0,
      ),
      by_code: byCode,
      by_tenant: [...this.#tenants.values()].sort((a, b) => total(b) - total(a)),
    };
  }
}

/** The answer lists so many warnings of each code. */
const mostListed = 100;

/** Answers what a dry run found. `take` checks the records and stores nothing. */
export async function dryRun(
  take: (findings: Findings) => Promise<IngestAnswer>,
): Promise<DryRunAnswer> {
  const warnings: NonNullable<DryRunAnswer['warnings']> = [];
  const listed = new Map<Finding['code'], number>();
  const findings = new Findings(({ index, severity, code, path, tenant, message }) => {
    const count = listed.get(code) ?? 0;
    if (severity === 'error' || tenant === null || count >= mostListed) return;
    listed.set(code, count + 1);
    warnings.push({ index, tenant, code, path, message });
  });
  const answer = await take(findings);
  return { ...answer, dry_run: true, warnings, ...findings.summary() };
}
