import { randomUUID } from 'node:crypto';
import type { ReportedLines } from '../../contract.ts';
import { AppError } from '../../kernel/errors.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import { ApiError } from '../api-error.ts';
import { columnsOf } from '../columns.ts';
import { shellQuote } from '../format.ts';
import { printObject } from '../output.ts';
import { parseAnswer } from '../parse-answer.ts';
import { createTable, printable } from '../table.ts';
import { openUpload, sendUpload } from '../upload.ts';
import { verb } from '../verb.ts';
import { noteRejected } from './records-ingest.ts';

const { count } = columnsOf<ReportedLines>();
const columns = [
  count('ACCEPTED', 'accepted'),
  count('DUPLICATES', 'duplicates'),
  count('REJECTED', 'rejected_count'),
  count('DELIVERIES', 'deliveries'),
];

export const report = verb({
  summary: 'report the incidents of a file, one a line',
  description:
    'Reports the incidents of a file: NDJSON of any length, each line as the body of POST /incidents, reported in their order. Lines without an idempotency_key get one made of --key and their number, so the whole file can be sent again under the same key: what was reported before is a duplicate then.',
  examples: [
    'svcctl incidents report --file incidents.ndjson',
    'svcctl incidents report --file night.ndjson.gz --key night-2026-03-05 --json',
    `jq -c '.[] | {tenant: "TX", type: "incident.created", data: .}' gates.json | svcctl incidents report --file -`,
  ],
  options: [
    ['--file <file>', 'the file, or - for stdin (required)'],
    ['--key <key>', 'idempotency key of the file, 180 characters at most (default: a new one)'],
    ['--json', 'print the answer as JSON'],
  ],
  async act(context, { file, key = randomUUID(), json }) {
    const upload = await openUpload(context.io, file);
    const client = await context.connect();
    const headers = { 'content-type': 'application/x-ndjson', 'idempotency-key': key };
    const print = async (text: string, answer: ReportedLines) => {
      if (json) await printObject(context, text, json);
      else await createTable(context, columns).write([answer]);
      noteRejected(context, answer);
      for (const { index, message } of answer.warnings ?? []) {
        context.note(`Mind line ${index + 1}: ${printable(message)}`);
      }
    };
    let text: string;
    try {
      text = await sendUpload(context, client, upload, { route: 'POST /incidents', headers });
    } catch (error) {
      const again = `Send all of it again, which reports nothing twice: svcctl incidents report --file ${shellQuote(file)} --key ${shellQuote(key)}`;
      if (!(error instanceof ApiError)) context.note(again);
      else if (Array.isArray(error.problem['rejected'])) {
        const { accepted, duplicates, deliveries, rejected, rejected_count } = error.problem;
        const progress = { accepted, duplicates, deliveries, rejected, rejected_count };
        await print(JSON.stringify(progress), progress as ReportedLines);
        error.advice.push(again);
      }
      throw error;
    }
    const answer = parseAnswer(text) as ReportedLines;
    await print(text, answer);
    const { accepted, duplicates, rejected_count: rejected, held_back: held } = answer;
    if (held !== undefined) {
      context.note(
        `${numberOf(held, 'delivery', 'deliveries')} held back, because too much waits; a replay makes them: svcctl incidents show names the endpoints`,
      );
    }
    if (rejected === 0) return;
    const total = accepted + duplicates + rejected;
    throw new AppError('records_rejected', {
      detail: `${formatCount(rejected)} of ${numberOf(total, 'line')} rejected. Mend these and send the file again: svcctl incidents report --file ${shellQuote(file)} --key ${shellQuote(key)}`,
    });
  },
});
