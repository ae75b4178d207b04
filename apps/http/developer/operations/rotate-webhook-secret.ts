import { rotateSecret } from '../../../../core/webhooks/manage-endpoints.js';
import { renderSecret, WEBHOOK_SECRET_SCHEMA } from '../../render/webhook.js';
import type { ProtectedOperation } from '../operation.js';

export const rotateWebhookSecretOperation: ProtectedOperation = {
  operationId: 'rotateWebhookSecret',
  summary: "Give a webhook a new secret, or make the App's default one",
  description:
    'Messages are signed by the secret before it too for a day more. `default` in place of the id names the secret that signs messages to the address of a single generation, which its Darkroom-Webhook-Url gave.',
  status: 201,
  data: WEBHOOK_SECRET_SCHEMA,
  errors: ['NOT_FOUND'],
  async answer({ context, caller, params }) {
    const secret = await rotateSecret(context, caller, params['webhook_id'] ?? '');
    return { data: renderSecret(secret, context.clock.now()) };
  },
};
