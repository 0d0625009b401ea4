export { listEndedExports, listOpenExports } from './list.ts';
export { addJobRoutes, answerWithJob, type JobRouteOptions } from './routes.ts';
export type { WorkContext } from './runner/context.ts';
export { type JobRunner, startJobRunner } from './runner/runner.ts';
export { noteGoneExports, startSweeps } from './sweep.ts';
