import { getUpload } from '../../../../core/uploads/get-upload.js';
import type { ProtectedOperation } from '../operation.js';
import { renderUpload, UPLOAD_SCHEMA } from '../../render/upload.js';

export const getUploadOperation: ProtectedOperation = {
  operationId: 'getUpload',
  summary: 'Get the state of an upload',
  status: 200,
  data: UPLOAD_SCHEMA,
  errors: ['NOT_FOUND'],
  answer: async ({ context, caller, params }) => ({
    data: renderUpload(await getUpload(context, caller, params['upload_id'] ?? '')),
  }),
};
