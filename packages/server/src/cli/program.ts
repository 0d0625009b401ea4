import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { addExport } from './commands/analytics-export.ts';
import { addAuditLs } from './commands/audit.ts';
import { addComplete, addCompletion } from './commands/completion.ts';
import { addConfig } from './commands/config.ts';
import { addDeliveriesLs } from './commands/deliveries.ts';
import { addDlqGroups, addDlqLs, addDlqPurge, addDlqShow } from './commands/dlq.ts';
import {
  addDlqCancel,
  addDlqPause,
  addDlqResume,
  addDlqRetries,
  addDlqRetry,
} from './commands/dlq-retry.ts';
import { addDrain } from './commands/drain.ts';
import {
  addEndpointsChange,
  addEndpointsCreate,
  addEndpointsDelete,
  addEndpointsDisable,
  addEndpointsEnable,
  addEndpointsLs,
  addEndpointsPing,
  addEndpointsRotateSecret,
  addEndpointsShow,
} from './commands/endpoints.ts';
import {
  addExportsCancel,
  addExportsGet,
  addExportsLs,
  addExportsShow,
} from './commands/exports.ts';
import { addIncidentsLs, addIncidentsSend, addIncidentsShow } from './commands/incidents.ts';
import { addListen } from './commands/listen.ts';
import { addRetentionMove, addRetentionMoves } from './commands/moves.ts';
import { addPolicyLs, addPolicyRm, addPolicySet, addPolicyShow } from './commands/policies.ts';
import { addRecordsLs, addRecordsShow } from './commands/records.ts';
import { addRecordsErase } from './commands/records-erase.ts';
import { addRecordsIngest } from './commands/records-ingest.ts';
import {
  addRetentionAdoptStore,
  addRetentionPlan,
  addRetentionRun,
  addRetentionVerify,
} from './commands/retention.ts';
import { addServe } from './commands/serve.ts';
import { addLogin, addLogout, addWhoami } from './commands/session.ts';
import { addTagsAdd, addTagsLs, addTagsRm } from './commands/tags.ts';
import { addTokensCreate, addTokensLs, addTokensRevoke } from './commands/tokens.ts';
import {
  addVersionsCreate,
  addVersionsLs,
  addVersionsRm,
  addVersionsShow,
} from './commands/versions.ts';
import type { Context } from './context.ts';

export type HelpOutput = { writeOut(text: string): void; writeErr(text: string): void };

const footer = `
Where commands find the service, first found wins: SVC_URL and SVC_TOKEN; --profile or SVC_PROFILE;
the default profile (svcctl login); a service running with its data in ./data or SVC_DATA_DIR.

Exit codes: 0 ok, 1 failure, 2 usage, 3 not found, 4 access, 5 unavailable, 6 conflict, 7 partly done,
130 interrupted.`;

/** Makes the tree of all commands. A file under commands/ holds the commands of one noun. */
export function createProgram(context: Context, help: HelpOutput): Command {
  const program = new Command('svcctl')
    .usage('[--profile NAME] <command> [options]')
    .description(
      'Enrichment records, exports and incident webhooks: the service and its command line.',
    )
    .version(readVersion())
    .option('--profile <name>', 'profile to connect with, as written by svcctl login')
    // Options before the command are global: `analytics export` has an own option --profile.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      ...help,
      // run.ts prints what was wrong, in our form.
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

/** Reads the version from package.json, which is two folders above src/cli as well as dist/cli. */
function readVersion(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
