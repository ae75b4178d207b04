export { type CreateOptions, Darkroom, type DarkroomOptions, type KeyedOptions } from './darkroom.js';
export { type Downloaded, type DownloadOptions } from './download.js';
export {
  ApiError,
  ConnectionError,
  DarkroomError,
  EventsUnsupported,
  GenerationFailed,
  TooExpensive,
  TransferError,
  WaitTimeout,
  WebhookVerificationError,
  type Refusal,
} from './errors.js';
export { type EventOptions, type SeenEvent } from './events.js';
export { type CreateRequest, type Generated, type GenerateInput, type GenerateOptions } from './generate.js';
export { pictureType, type FileSource, type ReferenceMediaType } from './bytes.js';
export { type Receive, type Received } from './receive.js';
export { type Answer, type CallOptions, type RequestOptions, Transport } from './transport.js';
export { PATIENT_TRIES } from './retry.js';
export { type Reference, type UploadOptions } from './upload.js';
export { hasEnded, type WaitOptions } from './wait.js';
export { DEFAULT_WEBHOOK, Webhooks } from './webhook-settings.js';
export { verifyWebhook, type VerifyOptions, type WebhookHeaders } from './webhooks.js';
export type * from './generated/api.js';
