export { exportsContract } from './contract.ts';
export { exportFigures } from './figures.ts';
export type { WorkContext } from './jobs/context.ts';
export { createExportKind } from './jobs/do-job.ts';
export { listEndedExports, listOpenExports } from './jobs/list.ts';
export { listExportsAsJobs } from './jobs/listed.ts';
export { noteGoneExports, startSweeps } from './jobs/sweep.ts';
export { addExportRoutes } from './routes.ts';
