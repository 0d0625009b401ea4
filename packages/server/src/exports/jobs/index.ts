export { noteGoneExports } from './removal/gone.ts';
export { startSweeps } from './removal/sweep.ts';
export { addJobRoutes, answerWithJob, type JobRouteOptions } from './routes.ts';
export type { WorkContext } from './runner/context.ts';
export { type JobRunner, startJobRunner } from './runner/runner.ts';
