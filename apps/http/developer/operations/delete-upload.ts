import { deleteUpload } from '../../../../core/uploads/delete-upload.js';
import type { ProtectedOperation } from '../operation.js';
import { UUID } from '../../render/schema-parts.js';

export const deleteUploadOperation: ProtectedOperation = {
  operationId: 'deleteUpload',
  summary: 'Delete an upload that was not used',
  description:
    'Removes the upload and its bytes. One that a generation was created with stays until its retention is over.',
  status: 200,
  data: { title: 'DeletedUpload', type: 'object', required: ['upload_id'], properties: { upload_id: UUID } },
  errors: ['NOT_FOUND', 'CONFLICT'],
  async answer({ context, caller, params }) {
    const { uploadId } = await deleteUpload(context, caller, params['upload_id'] ?? '');
    return { data: { upload_id: uploadId } };
  },
};
