import { invalidInput } from '../kernel/errors.ts';
import type { Audit, NoteRead } from '../platform/audit.ts';
import { readBody } from '../platform/http/body.ts';
import { type HttpServer, untilGone } from '../platform/http/server.ts';
import type { Log } from '../platform/log.ts';
import type { Database } from '../platform/postgres/database.ts';
import { type IngestAnswer, recordsContract } from './contract.ts';
import { countContract } from './count.contract.ts';
import { changeCount, getCount, startCount } from './counts/count-jobs.ts';
import { listDatasets, listMonthSums } from './datasets.ts';
import { readFacts } from './facts/read-facts.ts';
import { createFieldsReader } from './facts/read-fields.ts';
import { fieldsContract } from './fields.contract.ts';
import { addImportJobRoutes, assertOpen } from './import-jobs/import-jobs.ts';
import { dryRun } from './ingest/findings.ts';
import type { Ingest } from './ingest/ingest.ts';
import { createTiers, getRecord, listRecords } from './read/pages.ts';
import type { ColdReader } from './segments/segment.ts';
import { tagsContract } from './tags.contract.ts';
import { addTailRoute, type TailWaits } from './tail/send-tail.ts';
import { countRecords } from './versions/count-records.ts';

/** Adds the routes that ingest, list and read records, and those of datasets and facts. */
export function addRecordsRoutes(
  http: HttpServer,
  db: Database,
  options: {
    cursorKey: () => Buffer;
    ingest: Ingest;
    cold: ColdReader;
    log: Log;
    tailWaits: TailWaits;
    noteRead: NoteRead;
    audit: Audit;
    /** Tells this process that there is something to count. Without the role that counts it does nothing. */
    pokeCounts(): void;
    onIngested?(answer: IngestAnswer): void;
  },
): void {
  const { cursorKey, ingest, cold, noteRead } = options;
  const records = createTiers(db, cold);
  http.route(recordsContract.listDatasets, ({ query, actor }) =>
    listDatasets(db, cursorKey(), actor, query),
  );
  http.route(recordsContract.listMonthSums, ({ query, actor }) => listMonthSums(db, actor, query));
  http.route(recordsContract.listRecords, async ({ query, actor, request, reply }) => {
    reply.type('application/json; charset=utf-8');
    return noteRead({ actor, request }, { by: 'list', ...query }, () =>
      listRecords({ db, records }, cursorKey(), actor, query),
    );
  });
  http.route(countContract.countRecords, ({ query, actor, request, reply }) => {
    const tools = { db, cold, cursorKey: cursorKey(), signal: untilGone(reply) };
    return noteRead({ actor, request }, { by: 'count', ...query }, () =>
      countRecords(tools, actor, query),
    );
  });
  http.route(countContract.startCount, async ({ body, actor, request }) => {
    const what = { by: 'count', ...body };
    const job = await noteRead({ actor, request }, what, () => startCount(db, actor, body));
    options.pokeCounts();
    return job;
  });
  http.route(countContract.getCount, ({ params, actor }) => getCount(db, actor, params.id));
  http.route(countContract.changeCount, async ({ params, body, ...caller }) => {
    const job = await changeCount(db, { ...caller, audit: options.audit }, { ...params, ...body });
    options.pokeCounts();
    return job;
  });
  addImportJobRoutes(http, db);
  const { log, tailWaits: waits } = options;
  addTailRoute(http, { db, records }, { cursorKey, log, waits, noteRead });
  http.route(recordsContract.getRecord, async ({ query, actor, request, reply }) => {
    reply.type('application/json; charset=utf-8');
    return noteRead({ actor, request }, { by: 'record', ...query }, () =>
      getRecord(records, actor, query),
    );
  });
  const readFields = createFieldsReader({ db, cold });
  http.route(fieldsContract.getFields, ({ query, actor, request, reply }) => {
    const signal = untilGone(reply);
    return noteRead({ actor, request }, { by: 'fields', ...query }, () =>
      readFields(actor, query, signal),
    );
  });
  http.route(tagsContract.getFacts, ({ query, actor, request }) =>
    noteRead({ actor, request }, { by: 'facts', ...query }, () =>
      readFacts({ db, cold }, actor, query),
    ),
  );
  http.route(recordsContract.ingestRecords, async ({ request, query, actor, reply, recheck }) => {
    try {
      const body = readBody(request.raw, { document: '{"records":[…]}', item: 'a record' });
      // What came together with its token needs no second look at it, nor what is checked as it is stored.
      const look = request.raw.complete || actor.check !== undefined ? undefined : recheck;
      const take = ingest[body.isStream ? 'stream' : 'batch'];
      if (query.dry_run) {
        if (query.import !== undefined) throw invalidInput('?import', 'a dry run is of no import');
        return await dryRun((findings) => take(body, actor, { recheck: look, findings }));
      }
      const ofImport = query.import === undefined ? undefined : { id: query.import, conflicts: 0 };
      if (ofImport !== undefined) await assertOpen(db, actor, ofImport.id);
      const answer = await take(body, actor, { recheck: look, lookUp: recheck, ofImport });
      options.onIngested?.(answer);
      return { ...answer, ...(ofImport && { conflicts: ofImport.conflicts }) };
    } catch (error) {
      // The rest of the body could not be told from the next request, so the connection closes.
      if (!request.raw.complete) reply.header('connection', 'close');
      throw error;
    }
  });
}
