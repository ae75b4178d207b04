import type { Route } from './operation.js';
import { cancelGenerationOperation } from './operations/cancel-generation.js';
import { completeUploadOperation } from './operations/complete-upload.js';
import { createGenerationOperation } from './operations/create-generation.js';
import { deleteGenerationOperation } from './operations/delete-generation.js';
import { deleteUploadOperation } from './operations/delete-upload.js';
import { estimateGenerationOperation } from './operations/estimate-generation.js';
import { getCreditsOperation } from './operations/get-credits.js';
import { getGenerationOperation } from './operations/get-generation.js';
import { getModelOperation } from './operations/get-model.js';
import { getUploadOperation } from './operations/get-upload.js';
import { listEntriesOperation } from './operations/list-entries.js';
import { listGenerationsOperation } from './operations/list-generations.js';
import { listModelsOperation } from './operations/list-models.js';
import { prepareUploadOperation } from './operations/prepare-upload.js';
import { watchGenerationOperation } from './operations/watch-generation.js';

/** The base path of every endpoint of the interface. */
export const BASE = '/api/v1/developer';

/** Every endpoint of the interface, by its path under `BASE`: what it is, who may call it and what it needs. */
export const ROUTES: readonly Route[] = [
  { method: 'GET', path: '/models', operation: listModelsOperation },
  { method: 'GET', path: '/models/:model_key', operation: getModelOperation },
  { method: 'GET', path: '/credits', operation: getCreditsOperation, scope: 'credits:read', rate: 'reads' },
  {
    method: 'GET',
    path: '/credits/entries',
    operation: listEntriesOperation,
    scope: 'credits:read',
    rate: 'reads',
  },
  {
    method: 'POST',
    path: '/generations',
    operation: createGenerationOperation,
    scope: 'generations:write',
    rate: 'writes',
    needsKey: true,
  },
  {
    method: 'POST',
    path: '/generations/estimate',
    operation: estimateGenerationOperation,
    scope: 'generations:write',
    rate: 'reads',
  },
  {
    method: 'GET',
    path: '/generations',
    operation: listGenerationsOperation,
    scope: 'generations:read',
    rate: 'reads',
  },
  {
    method: 'GET',
    path: '/generations/:generation_id',
    operation: getGenerationOperation,
    scope: 'generations:read',
    rate: 'reads',
  },
  {
    method: 'DELETE',
    path: '/generations/:generation_id',
    operation: deleteGenerationOperation,
    scope: 'generations:write',
    rate: 'writes',
  },
  {
    method: 'GET',
    path: '/generations/:generation_id/events',
    operation: watchGenerationOperation,
    scope: 'generations:read',
    rate: 'reads',
  },
  {
    method: 'POST',
    path: '/generations/:generation_id/cancel',
    operation: cancelGenerationOperation,
    scope: 'generations:write',
    rate: 'writes',
  },
  {
    method: 'POST',
    path: '/uploads',
    operation: prepareUploadOperation,
    scope: 'uploads:write',
    rate: 'writes',
    needsKey: true,
  },
  {
    method: 'GET',
    path: '/uploads/:upload_id',
    operation: getUploadOperation,
    scope: 'uploads:write',
    rate: 'reads',
  },
  {
    method: 'DELETE',
    path: '/uploads/:upload_id',
    operation: deleteUploadOperation,
    scope: 'uploads:write',
    rate: 'writes',
  },
  {
    method: 'POST',
    path: '/uploads/:upload_id/complete',
    operation: completeUploadOperation,
    scope: 'uploads:write',
    rate: 'writes',
    needsKey: true,
  },
];
