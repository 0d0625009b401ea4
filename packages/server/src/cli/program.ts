import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { addExport } from './commands/analytics/export.ts';
import { addAuditLs } from './commands/audit/ls.ts';
import { addComplete } from './commands/complete.ts';
import { addCompletion } from './commands/completion.ts';
import { addConfig } from './commands/config.ts';
import { addDeliveriesLs } from './commands/deliveries/ls.ts';
import { addDlqCancel } from './commands/dlq/cancel.ts';
import { addDlqGroups } from './commands/dlq/groups.ts';
import { addDlqLs } from './commands/dlq/ls.ts';
import { addDlqPause } from './commands/dlq/pause.ts';
import { addDlqPurge } from './commands/dlq/purge.ts';
import { addDlqResume } from './commands/dlq/resume.ts';
import { addDlqRetries } from './commands/dlq/retries.ts';
import { addDlqRetry } from './commands/dlq/retry.ts';
import { addDlqShow } from './commands/dlq/show.ts';
import { addDrain } from './commands/drain.ts';
import { addEndpointsChange } from './commands/endpoints/change.ts';
import { addEndpointsCreate } from './commands/endpoints/create.ts';
import { addEndpointsDelete } from './commands/endpoints/delete.ts';
import { addEndpointsDisable } from './commands/endpoints/disable.ts';
import { addEndpointsEnable } from './commands/endpoints/enable.ts';
import { addEndpointsLs } from './commands/endpoints/ls.ts';
import { addEndpointsPing } from './commands/endpoints/ping.ts';
import { addEndpointsRotateSecret } from './commands/endpoints/rotate-secret.ts';
import { addEndpointsShow } from './commands/endpoints/show.ts';
import { addExportsCancel } from './commands/exports/cancel.ts';
import { addExportsGet } from './commands/exports/get.ts';
import { addExportsLs } from './commands/exports/ls.ts';
import { addExportsShow } from './commands/exports/show.ts';
import { addIncidentsLs } from './commands/incidents/ls.ts';
import { addIncidentsSend } from './commands/incidents/send.ts';
import { addIncidentsShow } from './commands/incidents/show.ts';
import { addListen } from './commands/listen.ts';
import { addLogin } from './commands/login.ts';
import { addLogout } from './commands/logout.ts';
import { addRecordsErase } from './commands/records/erase.ts';
import { addRecordsIngest } from './commands/records/ingest.ts';
import { addRecordsLs } from './commands/records/ls.ts';
import { addRecordsShow } from './commands/records/show.ts';
import { addTagsAdd } from './commands/records/tags/add.ts';
import { addTagsLs } from './commands/records/tags/ls.ts';
import { addTagsRm } from './commands/records/tags/rm.ts';
import { addVersionsCreate } from './commands/records/versions/create.ts';
import { addVersionsLs } from './commands/records/versions/ls.ts';
import { addVersionsRm } from './commands/records/versions/rm.ts';
import { addVersionsShow } from './commands/records/versions/show.ts';
import { addRetentionAdoptStore } from './commands/retention/adopt-store.ts';
import { addRetentionMove } from './commands/retention/move.ts';
import { addRetentionMoves } from './commands/retention/moves.ts';
import { addRetentionPlan } from './commands/retention/plan.ts';
import { addPolicyLs } from './commands/retention/policy/ls.ts';
import { addPolicyRm } from './commands/retention/policy/rm.ts';
import { addPolicySet } from './commands/retention/policy/set.ts';
import { addPolicyShow } from './commands/retention/policy/show.ts';
import { addRetentionRun } from './commands/retention/run.ts';
import { addRetentionVerify } from './commands/retention/verify.ts';
import { addServe } from './commands/serve.ts';
import { addTokensCreate } from './commands/tokens/create.ts';
import { addTokensLs } from './commands/tokens/ls.ts';
import { addTokensRevoke } from './commands/tokens/revoke.ts';
import { addWhoami } from './commands/whoami.ts';
import type { Context } from './context.ts';

export type HelpOutput = { writeOut(text: string): void; writeErr(text: string): void };

const footer = `
Where commands find the service, first found wins: SVC_URL and SVC_TOKEN; --profile or SVC_PROFILE;
the default profile (svcctl login); a service running with its data in ./data or SVC_DATA_DIR.

Exit codes: 0 ok, 1 failure, 2 usage, 3 not found, 4 access, 5 unavailable, 6 conflict, 7 partly done,
130 interrupted.`;

/** The tree of all commands. Every file under commands/ is one command, its path the words one types. */
export function createProgram(context: Context, help: HelpOutput): Command {
  const program = new Command('svcctl')
    .usage('[--profile NAME] <command> [options]')
    .description(
      'Enrichment records, exports and incident webhooks: the service and its command line.',
    )
    .version(readVersion())
    .option('--profile <name>', 'profile to connect with, as written by svcctl login')
    // Options before the command are global: `analytics export` has a --profile of its own.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      ...help,
      // run.ts says what was wrong, in our form.
      outputError: () => {},
      getOutHelpWidth: () => Math.min(context.io.stdout.columns ?? 100, 100),
      getErrHelpWidth: () => Math.min(context.io.stderr.columns ?? 100, 100),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .addHelpText('after', footer);

  const records = addNoun(program, 'records', 'enrichment records: browse, read, store');
  addRecordsLs(records, context);
  addRecordsShow(records, context);
  addRecordsIngest(records, context);
  addRecordsErase(records, context);
  const tags = addNoun(records, 'tags', 'slices tagged as training or fine-tuning data');
  addTagsLs(tags, context);
  addTagsAdd(tags, context);
  addTagsRm(tags, context);
  const versions = addNoun(records, 'versions', 'frozen versions of datasets');
  addVersionsLs(versions, context);
  addVersionsShow(versions, context);
  addVersionsCreate(versions, context);
  addVersionsRm(versions, context);

  const analytics = addNoun(program, 'analytics', 'slices of records for analysis');
  addExport(analytics, context);

  const exports = addNoun(program, 'exports', 'export jobs and their files');
  addExportsLs(exports, context);
  addExportsShow(exports, context);
  addExportsGet(exports, context);
  addExportsCancel(exports, context);

  const retention = addNoun(program, 'retention', 'cold data: policies, moves, verification');
  addRetentionPlan(retention, context);
  addRetentionRun(retention, context);
  addRetentionAdoptStore(retention, context);
  addRetentionMoves(retention, context);
  addRetentionMove(retention, context);
  addRetentionVerify(retention, context);
  const policy = addNoun(retention, 'policy', 'how long records stay hot, and how long at all');
  addPolicyLs(policy, context);
  addPolicyShow(policy, context);
  addPolicySet(policy, context);
  addPolicyRm(policy, context);

  const dlq = addNoun(program, 'dlq', 'failed webhook deliveries: look, retry, discard');
  addDlqLs(dlq, context);
  addDlqShow(dlq, context);
  addDlqRetry(dlq, context);
  addDlqRetries(dlq, context);
  addDlqPause(dlq, context);
  addDlqResume(dlq, context);
  addDlqCancel(dlq, context);
  addDlqGroups(dlq, context);
  addDlqPurge(dlq, context);

  const endpoints = addNoun(program, 'endpoints', 'where webhooks are sent');
  addEndpointsLs(endpoints, context);
  addEndpointsShow(endpoints, context);
  addEndpointsCreate(endpoints, context);
  addEndpointsChange(endpoints, context);
  addEndpointsEnable(endpoints, context);
  addEndpointsDisable(endpoints, context);
  addEndpointsDelete(endpoints, context);
  addEndpointsRotateSecret(endpoints, context);
  addEndpointsPing(endpoints, context);

  const incidents = addNoun(program, 'incidents', 'what webhooks report');
  addIncidentsSend(incidents, context);
  addIncidentsLs(incidents, context);
  addIncidentsShow(incidents, context);

  const deliveries = addNoun(program, 'deliveries', 'webhook deliveries in every state');
  addDeliveriesLs(deliveries, context);

  const tokens = addNoun(program, 'tokens', 'access tokens');
  addTokensCreate(tokens, context);
  addTokensLs(tokens, context);
  addTokensRevoke(tokens, context);

  const audit = addNoun(program, 'audit', 'who did what, when and from where');
  addAuditLs(audit, context);

  addServe(program, context);
  addDrain(program, context);
  addListen(program, context);
  addLogin(program, context);
  addLogout(program, context);
  addWhoami(program, context);
  addConfig(program, context);
  addCompletion(program, context);
  addComplete(program, context);
  return program;
}

function addNoun(program: Command, name: string, description: string): Command {
  return program.command(name).description(description).helpCommand(false);
}

/** From package.json, which lies two folders up from src/cli as from dist/cli. */
function readVersion(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
