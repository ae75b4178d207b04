import type { SubmitAnswer } from '../../../core/ports/provider.js';
import { ListedHosts } from '../../http/listed-hosts.js';
import { deliveredImages } from './delivered-images.js';
import type { OpenAiInstance } from './openai-instance.js';
import { sendTask, type Task } from './task.js';

const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** Base64 takes four bytes for three; the rest is for what is no picture. */
const BASE64_SHARE = 1.4;
const OTHER_BYTES = 1024 * 1024;

/** Has pictures made. The answer comes when they are done, so it may take as long as the task may run. */
export async function submitImages(task: Task, instance: OpenAiInstance): Promise<SubmitAnswer> {
  const { settings, submission, call } = task;
  const { connection, maxOutputBytes } = instance;
  const timeLeftMs = Math.min(Math.max(1, submission.timeLeftMs), LONGEST_TIMER_MS);
  const sent = await sendTask(task, instance, {
    headersTimeoutMs: timeLeftMs,
    totalTimeoutMs: timeLeftMs,
    maxBodyBytes: Math.ceil(Math.max(1, submission.outputCount) * maxOutputBytes * BASE64_SHARE) + OTHER_BYTES,
  });
  if (sent.outcome === 'refused') return sent.refusal;
  const files = { connection, hosts: new ListedHosts(settings.result_hosts), sendsKey: true };
  return {
    accepted: true,
    ...(await deliveredImages(sent.answer, { settings, submission, call, maxOutputBytes, files })),
  };
}
