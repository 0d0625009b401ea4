/**
 * Catalogue, counters or hot records are not what a change of segments was prepared on: another process
 * changed them meanwhile, or they contradict each other. Tried again, it would find the same.
 */
export class SourceChanged extends Error {}
