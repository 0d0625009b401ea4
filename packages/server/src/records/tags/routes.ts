import type { Audit } from '../../platform/audit.ts';
import type { HttpServer } from '../../platform/http/server.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { tagsContract } from '../tags.contract.ts';
import { listDays } from './days.ts';
import { createTag, deleteTag, listTags } from './tags.ts';

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
  http.route(tagsContract.deleteTag, async ({ params, actor, request, reply }) => {
    await deleteTag(db, { actor, request, audit }, params.id);
    return reply.send();
  });
  http.route(tagsContract.listDays, ({ query, actor }) => listDays(db, cursorKey(), actor, query));
}
