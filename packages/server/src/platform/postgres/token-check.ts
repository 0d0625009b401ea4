import sql, { type Sql } from 'sql-template-tag';
import type { Actor, TokenCheck } from '../../kernel/actor.ts';
import { sqlState } from './errors.ts';

/** The SQLSTATE of a statement that has stored nothing, because a token is not what it was; see `require_token`. */
const tokenChanged = 'SV002';

/**
 * SQL that is true where all these tokens are what they were when they were read, and else undoes the whole statement.
 * It must be looked at before the statement locks anything. Most callers that come together have one token.
 */
export function tokensStand(checks: readonly (TokenCheck | undefined)[]): Sql {
  const byVersion = new Map(checks.map((check) => [`${check?.id} ${check?.version}`, check]));
  const [first, ...others] = [...byVersion.values()].filter((check) => check !== undefined);
  if (first === undefined) return sql`true`;
  if (others.length === 0) return sql`(select require_token(${first.id}, ${first.version}::xid))`;
  const all = [first, ...others];
  return sql`(select bool_and(require_token(id, version)) from unnest(${all.map(({ id }) => id)}::text[],
    ${all.map(({ version }) => version)}::xid[]) as given(id, version))`;
}

/**
 * Does work that stores something, with the check of its actor's token in the same statement. If the token has changed
 * since it was read, nothing was stored: it is looked up again, which throws 401 if it counts no more, and the work is
 * done once more.
 */
export async function withTokenCheck<T>(
  actor: Actor,
  recheck: () => Promise<Actor>,
  work: (actor: Actor) => Promise<T>,
): Promise<T> {
  try {
    return await work(actor);
  } catch (error) {
    if (sqlState(error) !== tokenChanged) throw error;
    return work(await recheck());
  }
}
