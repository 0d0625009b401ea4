export { exportsContract } from './contract.ts';
export { addExportRoutes } from './routes.ts';
