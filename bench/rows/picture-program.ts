import type { Run, Subject } from '../run.js';
import { configurePictures, createPictures, PICTURE_CREDITS, type PictureModel } from '../servers/picture-model.js';
import { creditsRequests } from '../servers/sample.js';
import type { Working } from './workers.js';

/** A process of the program that has its pictures made by a server with the Images API. */
export interface PictureProgram {
  readonly working: Working;
  /** Throws unless this number of pictures was delivered: a generation without a picture is not charged. */
  checkDelivered(count: number): Promise<void>;
}

/** The program with a worker in it, and one account. `start`: another version than this one. */
export async function startPictures(
  run: Run,
  model: PictureModel,
  start: (folder: string) => Promise<Subject> = async (folder) => run.startSubject(folder),
): Promise<PictureProgram> {
  const folder = run.newFolder('pictures');
  configurePictures(folder, model);
  const front = await start(folder);
  await front.child.ask('startWorker', undefined);
  const { secret } = await front.child.ask('createCredential', undefined);
  const balance = async (): Promise<number> => {
    const answer = await run.load.ask('get', { port: front.port, kind: creditsRequests(secret) });
    return (JSON.parse(answer) as { readonly data: { readonly balance_credits: number } }).data.balance_credits;
  };
  const granted = await balance();
  return {
    working: { front, fronts: [front], secrets: [secret], kind: createPictures(model.size, secret, model.modality) },
    async checkDelivered(count) {
      const delivered = (granted - (await balance())) / PICTURE_CREDITS;
      if (delivered !== count) throw new Error(`Of ${count} pictures ${delivered} were delivered.`);
    },
  };
}
