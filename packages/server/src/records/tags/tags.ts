import type { Static } from 'typebox';
import { type Actor, assertReach } from '../../kernel/actor.ts';
import { addDays } from '../../kernel/day.ts';
import { AppError } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { emptyPage, type Page, toKeyset, toPage } from '../../kernel/page.ts';
import { type Act, type Audit, noteAct } from '../../platform/audit.ts';
import type { HttpServer } from '../../platform/http/server.ts';
import type { Connection, Database, Queryable } from '../../platform/postgres/database.ts';
import { refuseHiddenNames } from '../../platform/postgres/known-names.ts';
import { isOutOfReach, toSlice } from '../slice/slice.ts';
import { type newTagSchema, type Tag, type Tagged, tagsContract } from '../tags.contract.ts';
import { listDays } from './days.ts';
import * as queries from './queries.ts';
import { countInOther, sumWindows } from './sums.ts';

/** Adds the routes that make, list and delete tags, and the one that lists days. */
export function addTagRoutes(
  http: HttpServer,
  db: Database,
  options: { cursorKey: () => Buffer; audit: Audit },
): void {
  const { cursorKey, audit } = options;
  http.route(tagsContract.createTag, async ({ body, actor, request, reply }) => {
    const tagged = await createTag(db, { actor, request, audit }, body);
    reply.status(tagged.id === null ? 200 : 201);
    return tagged;
  });
  http.route(tagsContract.listTags, ({ query, actor }) => listTags(db, cursorKey(), actor, query));
  http.route(tagsContract.deleteTag, ({ params, actor, request }) =>
    deleteTag(db, { actor, request, audit }, params.id),
  );
  http.route(tagsContract.listDays, ({ query, actor }) => listDays(db, cursorKey(), actor, query));
}

/** A tenant may have this many tags, because reading coverage looks at all of them. */
const mostTags = 1000;

/** Tags a window of days. Throws 400 `request_invalid`, also out of reach, 409 `tag_exists`, `tags_full`. */
async function createTag(
  db: Database,
  act: Act,
  request: Static<typeof newTagSchema>,
): Promise<Tagged> {
  const { note: text = null, dry_run = false, ...asked } = request;
  const { tenant, dataset } = asked;
  const { store = null, from = null, until } = toSlice(asked, act.actor, '/');
  assertReach(act.actor, tenant);
  await refuseHiddenNames(db, '/', [{ tenant, store }]);
  const window = {
    tenant,
    store,
    from,
    to: until === undefined ? null : addDays(until, -1),
    dataset,
  };
  return db.transaction(async (connection) => {
    await queries.lockTags(connection, tenant);
    await assertRoom(connection, window);
    const given = { ...window, note: text, created_by: act.actor.name };
    const tag = dry_run
      ? { ...given, id: null, created_at: await queries.readTime(connection) }
      : await keepTag(connection, act, given);
    const [sum] = await sumWindows(connection, [window]);
    const inOther = await countInOther(connection, window);
    return {
      ...tag,
      count: sum?.count ?? 0,
      bytes: sum?.bytes ?? 0,
      warnings: inOther === 0 ? [] : [inBothWarning(window, inOther, dry_run)],
    };
  });
}

/** Returns one page of tags, the latest first. Throws 400 `request_invalid` or `cursor_invalid`. */
async function listTags(
  db: Database,
  cursorKey: Buffer,
  actor: Actor,
  request: Static<typeof tagsContract.listTags.query>,
): Promise<Page<Tag>> {
  const { limit, cursor, dataset, ...asked } = request;
  const slice = toSlice(asked, actor, '?');
  const scope = { list: 'tags', filters: { ...asked, dataset } };
  const page = { cursorKey, scope, limit, cursor };
  const keyset = toKeyset(page);
  if (isOutOfReach(slice, actor)) return emptyPage();
  return db.transaction(
    async (snapshot) => {
      const rows = await queries.listTags(snapshot, { ...slice, dataset }, keyset);
      const { data: tags, next_cursor } = toPage(page, rows, (tag) => [tag.created_at, tag.id]);
      const sums = await sumWindows(snapshot, tags);
      const data = tags.map((tag, i) => ({ ...tag, ...(sums[i] ?? { count: 0, bytes: 0 }) }));
      return { data, next_cursor };
    },
    { isolation: 'repeatable read' },
  );
}

/** Deletes a tag. Throws 404 `tag_not_found`, also for a tag of a tenant out of reach. */
async function deleteTag(db: Database, act: Act, id: string): Promise<void> {
  await db.transaction(async (connection) => {
    const tag = await queries.deleteTag(connection, id, act.actor.tenants);
    if (tag === undefined) {
      throw new AppError('tag_not_found', {
        detail: `There is no tag ${JSON.stringify(id)} here. GET /enrichment/tags lists them.`,
      });
    }
    const { tenant } = tag;
    await noteAct(connection, act, { action: 'tag.delete', target: id, tenant, before: tag });
  });
}

async function keepTag(
  connection: Queryable,
  act: Act,
  given: Omit<queries.StoredTag, 'id' | 'created_at'>,
): Promise<queries.StoredTag> {
  const tag = await queries.insertTag(connection, { ...given, id: newId('tag') });
  if (tag === undefined) throw new Error('a tag vanished while it was written');
  const { id: target, tenant } = tag;
  await noteAct(connection, act, { action: 'tag.create', target, tenant, after: tag });
  return tag;
}

async function assertRoom(connection: Connection, window: queries.TagWindow): Promise<void> {
  const { tenant, dataset } = window;
  const same = await queries.findTagOfWindow(connection, window);
  if (same !== undefined) {
    throw new AppError('tag_exists', {
      detail: `The tag ${same.id} has the same window and dataset, ${dataset}. Delete it first to tag it anew, for another note say.`,
    });
  }
  if ((await queries.countTags(connection, tenant)) >= mostTags) {
    throw new AppError('tags_full', {
      detail: `${tenant} has ${mostTags.toLocaleString('en')} tags. Delete some, or replace many short windows by a long one.`,
    });
  }
}

function inBothWarning(
  { dataset }: queries.TagWindow,
  count: number,
  isDryRun: boolean,
): Tagged['warnings'][number] {
  const other = dataset === 'training' ? 'fine_tuning' : 'training';
  const records = count === 1 ? '1 record' : `${count.toLocaleString('en')} records`;
  const verb = isDryRun ? 'would be' : count === 1 ? 'is' : 'are';
  return {
    code: 'in_both_datasets',
    message: `By this tag ${records} of ${other} ${verb} in ${dataset} too. Coverage counts each once; exports and versions of either dataset hold them.`,
    count,
  };
}
