import type { FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import { callerOf } from '../../kernel/actor.ts';
import { AppError, invalidInput } from '../../kernel/errors.ts';
import { createSharedBudget } from '../../kernel/gate.ts';
import { compactMember } from '../../kernel/json-slices.ts';
import { isStreamed, readBody } from '../../platform/http/body.ts';
import type { HttpServer } from '../../platform/http/server.ts';
import { parseJson, Validator } from '../../platform/http/validate.ts';
import { withTokenCheck } from '../../platform/postgres/token-check.ts';
import { newIncidentSchema, webhooksContract } from '../contract.ts';
import type { WebhookOptions } from '../options.ts';
import { ownTypes } from '../values.ts';
import type { createReportIncident, Report } from './report-incident.ts';
import { reportLines } from './report-lines.ts';

type Request = Static<typeof newIncidentSchema>;

/** So many streams are read at once, in all and of one caller: each may hold some megabytes. */
const streams = { total: 32, each: 8 };
/** What a line may have beside its payload, of which each character may be spelled with several bytes. */
const aroundBytes = 64 * 1024;

/** Adds the route that takes reports: one as JSON, or one a line as NDJSON. */
export function addReportRoute(
  http: HttpServer,
  report: ReturnType<typeof createReportIncident>,
  { maxPayloadBytes }: Pick<WebhookOptions, 'maxPayloadBytes'>,
): void {
  const budget = createSharedBudget(streams);
  const check = new Validator().check(newIncidentSchema, '/');
  const contract = webhooksContract.reportIncident;
  http.route(contract, async ({ body, actor, request, reply, recheck }) => {
    const key = keyOf(request);
    if (!isStreamed(contract, request)) {
      const own = toReport(request, withKey(body, key), request.jsonText);
      return withTokenCheck(actor, recheck, (found) => report.one(found, own));
    }
    if (key !== undefined && key.length > longestStem) {
      throw invalidInput('/idempotency_key', `the header has more than ${longestStem} characters`);
    }
    const own = budget.of(callerOf(actor));
    if (!own.take(1)) {
      throw new AppError('ingest_busy', {
        detail: `At once ${streams.total} batches of incidents are taken, and ${streams.each} of one caller. Send it again later.`,
        retryAfterSeconds: 1,
      });
    }
    reply.status(207);
    try {
      const sent = readBody(request.raw, { document: 'an incident', item: 'an incident' });
      return await reportLines(sent, {
        // What came together with its token needs no second look at it.
        recheck: request.raw.complete ? async () => {} : recheck,
        maxLineBytes: 2 * maxPayloadBytes + aroundBytes,
        isNumbered: key !== undefined,
        reportAll: (reports) => report.all(actor, reports),
        read(line, index) {
          const { text, value } = parseJson(Buffer.from(line));
          check(value);
          const incident = value as Request;
          const lineKey = key === undefined ? undefined : `${key}/${index}`;
          const idempotency_key = incident.idempotency_key ?? lineKey;
          return toReport(request, { ...incident, idempotency_key } as Request, text);
        },
      });
    } catch (error) {
      // The rest of the body could not be told from the next request, so the connection closes.
      if (!request.raw.complete) reply.header('connection', 'close');
      throw error;
    } finally {
      own.give(1);
    }
  });
}

/** A report as it came in `text`. Throws 400 `request_invalid` for a type that only the service itself reports. */
function toReport(
  { id: requestId, traceParent }: FastifyRequest,
  request: Request,
  text: string,
): Report {
  if (request.type.startsWith(ownTypes)) {
    throw invalidInput('/type', `must not begin with ${ownTypes}: these are the service's own`);
  }
  // The data is taken from the text, because JSON.parse would change large numbers.
  return { request, dataSource: compactMember(text, 'data'), requestId, traceParent };
}

/** A key that is followed by `/` and the number of a line is no longer than any key. */
const longestStem = 180;

/** The key in the header, with the quotes of a structured field or without. Throws 400 `request_invalid`. */
function keyOf({ headers }: FastifyRequest): string | undefined {
  const given = headers['idempotency-key'];
  if (given === undefined) return undefined;
  const key = String(given).replace(/^"(.*)"$/, '$1');
  if (/^[!-~]{1,200}$/.test(key)) return key;
  throw invalidInput(
    '/idempotency_key',
    'the header Idempotency-Key must be 1–200 characters of printable ASCII, and be given once',
  );
}

function withKey(body: Request, key: string | undefined): Request {
  if (key === undefined || body.idempotency_key === key) return body;
  if (body.idempotency_key === undefined) return { ...body, idempotency_key: key };
  throw invalidInput('/idempotency_key', 'is another one than in the header Idempotency-Key');
}
