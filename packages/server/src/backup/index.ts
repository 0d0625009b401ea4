export { findLastBackup, type LastBackup } from './queries.ts';
