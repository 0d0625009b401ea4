import type { Actor } from '../kernel/actor.ts';
import { AppError } from '../kernel/errors.ts';
import { hashSecret, randomText } from '../kernel/ids.ts';
import { basePath } from '../kernel/values.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import type { ExportRequest } from './contract.ts';
import * as queries from './queries.ts';
import type { ExportFormat } from './values.ts';

/** How long a link works. */
const linkSeconds = 600;

/** Makes a link that downloads this export once, as a browser does by itself. Only a hash of its code is stored. */
export async function createLink(
  db: Queryable,
  request: ExportRequest,
  options: { format: ExportFormat; actor: Actor; rowCount: number; origin: string },
) {
  const { format, actor, rowCount, origin } = options;
  const code = randomText(32);
  const { delivery: _link, ...kept } = request;
  const expiresAt = await queries.insertLink(db, {
    hash: hashSecret(code),
    tokenId: actor.tokenId,
    request: { ...kept, format },
    seconds: linkSeconds,
  });
  const url = `${origin}${basePath}/exports/links/${code}`;
  return { url, expires_at: expiresAt, row_count: rowCount };
}

type Link = { tokenId: string; format: ExportFormat; body: ExportRequest };

/** Returns what a link stands for and uses it up. Throws 404 `link_not_found`. */
export async function takeLink(db: Queryable, code: string): Promise<Link> {
  return toLink(await queries.takeLink(db, hashSecret(code)));
}

/** Returns what a link stands for without using it up, for HEAD requests. Throws 404 `link_not_found`. */
export async function findLink(db: Queryable, code: string): Promise<Link> {
  return toLink(await queries.findLink(db, hashSecret(code)));
}

function toLink(link: queries.StoredLink | undefined): Link {
  if (link === undefined) {
    throw new AppError('link_not_found', {
      detail: 'This download link was used already or is too old. Start the export again.',
    });
  }
  const { format, ...body } = link.request;
  return { tokenId: link.token_id, format, body };
}
