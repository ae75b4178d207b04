import { HttpWebhookSender } from '../../adapters/webhooks/http-webhook-sender.js';
import type { Clock } from '../../core/ports/machine.js';
import type { Config } from '../config/config.js';
import { renderWebhookMessage } from '../http/render/webhook.js';

/** Sends webhooks with the task as the REST front shows it. */
export function openWebhookSender({ webhooks }: Pick<Config, 'webhooks'>, clock: Clock): HttpWebhookSender {
  return new HttpWebhookSender({
    allow: [...webhooks.allowedHosts, ...webhooks.allowedNetworks],
    clock,
    render: (message) => JSON.stringify(renderWebhookMessage(message)),
  });
}
