import { WebhookDeliveryState, WebhookEvent, Webhooks } from '../../../apps/grpc/generated/darkroom/v1/webhooks_pb.js';
import type { Json } from '../../../core/json.js';
import type { FrontRequest } from '../vectors/play.js';
import type { WebhookOperation } from '../vectors/vector.js';
import type { Calling, GrpcAnswer } from './calling.js';
import { type Fields, LIST, messageOf, moment, no, text, webhookOf, word } from './messages.js';

const { method } = Webhooks;

/** `generation.succeeded` as the name of a number. */
const eventWord = (value: Json) =>
  typeof value === 'string' ? word(WebhookEvent)(value.replace('.', '_')) : no('another type');

const CHANGE: Fields = {
  url: ['url', text],
  events: ['events', (value) => (Array.isArray(value) ? value.map(eventWord) : no('another type'))],
  description: ['description', text],
  enabled: ['enabled', (value) => (typeof value === 'boolean' ? value : no('another type'))],
};

const DELIVERIES: Fields = {
  ...LIST,
  state: ['state', word(WebhookDeliveryState)],
  event: ['event', eventWord],
  generation_id: ['generationId', text],
};

const REPLAY: Fields = {
  created_after: ['createdAfter', moment],
  created_before: ['createdBefore', moment],
  state: ['state', word(WebhookDeliveryState)],
  cursor: ['pageToken', text],
};

/** Makes the webhook call that the request describes. */
export function askWebhooks(call: Calling, operation: WebhookOperation, request: FrontRequest): Promise<GrpcAnswer> {
  const { id: webhookId = '', deliveryId = '', query = {}, body } = request;
  switch (operation) {
    case 'createWebhook':
      return call(method.createWebhook, messageOf(CHANGE, body), ({ webhook, secret }) => ({
        ...webhookOf(webhook),
        secret,
      }));
    case 'listWebhooks':
      return call(method.listWebhooks, {}, ({ webhooks }) => ({ webhooks: webhooks.map(webhookOf) }));
    case 'getWebhook':
      return call(method.getWebhook, { webhookId }, ({ webhook }) => webhookOf(webhook));
    case 'updateWebhook':
      return call(method.updateWebhook, { webhookId, ...messageOf(CHANGE, body) }, ({ webhook }) => webhookOf(webhook));
    case 'deleteWebhook':
      return call(method.deleteWebhook, { webhookId });
    case 'rotateWebhookSecret':
      return call(method.rotateWebhookSecret, { webhookId });
    case 'testWebhook':
      return call(method.testWebhook, { webhookId }, 'delivery');
    case 'listWebhookDeliveries':
      return call(method.listWebhookDeliveries, { webhookId, ...messageOf(DELIVERIES, query) });
    case 'replayWebhookDelivery':
      return call(method.replayWebhookDelivery, { webhookId, deliveryId }, 'delivery');
    case 'replayWebhookDeliveries':
      return call(method.replayWebhookDeliveries, { webhookId, ...messageOf(REPLAY, body) });
  }
}
