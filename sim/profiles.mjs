import { layouts } from './world.mjs';

const [one, two, , four] = layouts;

/** Which commands and faults a run plays, by what their names begin with, and on which processes. */
export const profiles = {
  all: {},
  /** No faults: what fails here fails in calm. */
  calm: { faults: /^$/ },
  webhooks: { commands: /incident|endpoint|backlog|secret|deliver|dead|bulk/ },
  retention: { commands: /ingest|retention|erase|page|tree|policy|export$/, layouts: [one, two] },
  exports: { commands: /ingest|export|version|tag|retention|token/, layouts: [one, two] },
  /** Months that nobody has written before, by several processes at once. */
  partitions: { commands: /ingest/, layouts: [two, four] },
  rolling: { faults: /restart/, layouts: [two, four] },
};
