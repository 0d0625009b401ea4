import { layouts } from './world.mjs';

const [one, two, , four] = layouts;

/** Which commands and faults a run plays, by what their names contain, on which processes, and with which settings. */
export const profiles = {
  all: {},
  /** No faults: what fails here fails in calm. */
  calm: { faults: /^$/ },
  webhooks: { commands: /incident|endpoint|backlog|secret|deliver|dead|bulk|portal/ },
  /** So little may wait that incidents are held back from endpoints, until a replay sends them. */
  'held-back': {
    commands: /incident|endpoint|deliver|dead|bulk/,
    layouts: [one, two],
    settings: { SVC_TENANT_WAITING: '30' },
  },
  retention: {
    commands: /ingest|retention|erase|page|tree|follow|policy|export$/,
    layouts: [one, two],
  },
  exports: { commands: /ingest|export|version|tag|retention|token/, layouts: [one, two] },
  /** What leaves in files: exports, schedules, and versions with their bundles. */
  files: { commands: /ingest a|export|version|tag days|erase|run retention/, layouts: [one, two] },
  /** Months that nobody has written before, by several processes at once. */
  partitions: { commands: /ingest/, layouts: [two, four] },
  access: { commands: /ingest a|token|hold|portal|erase|person|identity/ },
  backups: { commands: /ingest|erase|retention|incident|export|back up/, layouts: [one, two] },
  /** A run of retention is due each minute, and the only process is often dead then. */
  schedule: {
    commands: /ingest|tree|run retention/,
    faults: /(kill|restart) a process|kill PostgreSQL/,
    layouts: [one],
    settings: { SVC_RETENTION_SCHEDULE: '* * * * *' },
  },
  /** While a process is restarted, no call may fail; when it is killed, none but those that it had. */
  rolling: { faults: /(restart|kill) a process/, layouts: [two, four] },
};
