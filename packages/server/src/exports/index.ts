export { exportsContract } from './contract.ts';
export {
  addJobRoutes,
  answerWithJob,
  type JobRouteOptions,
  type JobRunner,
  noteGoneExports,
  startJobRunner,
  startSweeps,
  type WorkContext,
} from './jobs/index.ts';
export { addExportRoutes } from './routes.ts';
