import type { SubmitAnswer } from '../../../core/ports/provider.js';
import { ListedHosts } from '../../http/allow-list.js';
import { limitsOfAnswer } from '../shared/spooled-outputs.js';
import { deliveredImages } from './delivered-images.js';
import type { OpenAiInstance } from './openai-instance.js';
import { sendTask, type Task } from './task.js';

/** Requests pictures. The response arrives when they are done, so it may take as long as the task may run. */
export async function submitImages(task: Task, instance: OpenAiInstance): Promise<SubmitAnswer> {
  const { settings, submission, call } = task;
  const { connection, maxOutputBytes } = instance;
  const sent = await sendTask(task, instance, limitsOfAnswer(submission, maxOutputBytes));
  if (sent.outcome === 'refused') return sent.refusal;
  const files = { connection, hosts: new ListedHosts(settings.result_hosts), sendsKey: true };
  return deliveredImages(sent.answer, { settings, submission, call, maxOutputBytes, files, instance });
}
