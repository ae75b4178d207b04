import { useEffect, useRef, useState } from 'preact/hooks';
import type { Model, Output, Role } from '../../api-types.js';
import { numberText } from '../../format.js';
import { Button } from '../../parts/buttons.js';
import { FieldError } from '../../parts/form.js';
import { Icon } from '../../parts/icon.js';
import { announce } from '../../parts/toasts.js';
import { uploadReference } from '../../../../../clients/typescript/src/upload.js';
import { Explained, inApp, randomKey, readable, remove, sentenceOf, transportOf } from '../../server.js';
import type { ShownRequest } from '../../server-types.js';
import { type CodeReference, ROLE_TEXTS } from '../code/request-code.js';

/** A reference file: being uploaded, or on the server. */
export interface Reference extends CodeReference {
  readonly key: string;
  readonly state: 'uploading' | 'ready' | 'failed';
  /** Absent for one of an earlier generation. */
  readonly file?: File;
  /** The address of a picture of it. */
  readonly preview?: string | undefined;
  readonly fault?: string;
}

/** The reference files of the form, each uploaded as soon as it is added. */
export function useReferences(appId: string, model: Model) {
  const { max_reference_uploads: most, upload_media_types: types, max_upload_bytes: maxBytes } = model.limits;
  const [all, setAll] = useState<readonly Reference[]>([]);
  const [fault, setFault] = useState<string>();
  const sending = useRef(new Map<string, AbortController>()).current;
  const stopAll = (): void => {
    for (const controller of sending.values()) controller.abort();
  };
  // oxlint-disable-next-line react-hooks/exhaustive-deps
  useEffect(() => stopAll, []);
  const send = async (key: string, file: File, role: Role, preview = URL.createObjectURL(file)): Promise<void> => {
    const controller = new AbortController();
    const { signal } = controller;
    sending.set(key, controller);
    const put = (changes: Outcome): void => {
      if (signal.aborted) return;
      const next: Reference = { key, role, file, filename: file.name, media_type: file.type, preview, ...changes };
      setAll((before) => {
        const at = before.findIndex((one) => one.key === key);
        return at < 0 ? [...before, next] : before.with(at, next);
      });
    };
    put({ state: 'uploading' });
    put(await upload(appId, file, role, signal));
  };
  const stop = ({ key, upload_id: id, file }: Reference): void => {
    sending.get(key)?.abort();
    // One that stays is lost by nobody: the server removes uploads that no generation uses.
    if (id !== undefined && file !== undefined) remove(inApp(appId, `/uploads/${id}`)).catch(() => undefined);
  };
  /** Adds the files that the model takes. */
  const take = (files: readonly File[]): void => {
    const taken = files.filter(({ type, size }) => types.includes(type) && size <= maxBytes);
    const left = Math.max(0, most - all.length);
    for (const file of taken.slice(0, left)) void send(randomKey(), file, freeRole(model, all));
    setFault(whyNotAll(model, files, left));
  };
  return {
    all,
    /** Why not all files were taken that were added last. */
    fault,
    take,
    /** Adds an output; undefined where the model takes no more. */
    refer:
      most > all.length
        ? async (output: Output): Promise<void> => {
            take([await fileOf(output)]);
            announce('The image is added to the references.');
          }
        : undefined,
    /** Replaces all by those of an earlier generation of the same App; copies of those of another App are added. */
    adopt: async (earlier: ShownRequest['references'], earlierAppId: string): Promise<void> => {
      const stored = earlier.filter(({ url }) => url !== undefined);
      if (earlierAppId === appId) {
        stopAll();
        setAll(
          stored.map(({ url, ...one }) => {
            const preview = url ? readable(url) : undefined;
            return { ...one, key: randomKey(), state: 'ready', preview };
          }),
        );
      } else
        for (const { upload_id: id, url, role } of stored) {
          const file = url ? await fileOf({ url, media_id: id }).catch(() => undefined) : undefined;
          if (file !== undefined) void send(randomKey(), file, role);
        }
    },
    /** Uploads the file again, because that has failed, or in another role, which is part of an upload. */
    again: (one: Reference, role = one.role): void => {
      stop(one);
      if (one.file !== undefined) void send(one.key, one.file, role, one.preview);
    },
    remove: (one: Reference): void => {
      stop(one);
      setAll((before) => before.filter(({ key }) => key !== one.key));
    },
  };
}

export type References = ReturnType<typeof useReferences>;

/** An output as a file, so that it can become a reference. Throws `Explained` where its store does not let pages read it. */
async function fileOf({ url, media_id: id }: Pick<Output, 'url' | 'media_id'>): Promise<File> {
  try {
    const response = await fetch(readable(url));
    if (!response.ok) throw new Error(String(response.status));
    const bytes = await response.blob();
    return new File([bytes], `${id}.${bytes.type.replace(/^image\//, '')}`, { type: bytes.type });
  } catch {
    throw new Explained('The image can’t be read from where files are stored. Download it and add it as a file.');
  }
}

type Outcome = Pick<Reference, 'state' | 'upload_id' | 'fault'>;

/** So often a file is sent before the person decides. */
const SEND_TRIES = 3;

async function upload(appId: string, file: File, role: Role, signal: AbortSignal): Promise<Outcome> {
  try {
    const options = { intent: randomKey(), signal, addressOf: readable, maxTries: SEND_TRIES };
    return { state: 'ready', upload_id: await uploadReference(transportOf(appId), { file, role }, options) };
  } catch (error) {
    // The library names the type of file that it does not take in a TypeError.
    return { state: 'failed', fault: error instanceof TypeError ? error.message : sentenceOf(error) };
  }
}

/** Why a model does not take all of some files, of which it takes so many. */
function whyNotAll({ limits, display_name: name }: Model, files: readonly File[], left: number): string | undefined {
  const { max_reference_uploads: most, upload_media_types: types, max_upload_bytes: maxBytes } = limits;
  const wrongType = files.find(({ type }) => !types.includes(type));
  if (wrongType !== undefined) return `${wrongType.name} is not a ${listText(types)} image.`;
  const tooLarge = files.find(({ size }) => size > maxBytes);
  if (tooLarge !== undefined) return `${tooLarge.name} is larger than ${sizeText(maxBytes)}.`;
  return files.length > left ? `${name} takes at most ${most} ${most === 1 ? 'file' : 'files'}.` : undefined;
}

/** One that no other file has, where each frame can be there once. */
function freeRole({ limits: { reference_roles: roles } }: Model, all: readonly Reference[]): Role {
  const free = roles.find((role) => role === 'reference_image' || !all.some((one) => one.role === role));
  return free ?? roles[0] ?? 'reference_image';
}

interface ReferenceListProps {
  model: Model;
  references: References;
  /** The error of the field at a JSON Pointer. */
  faultAt: (pointer: string) => string | undefined;
}

/** Reference files, which can be dropped, pasted or chosen, with the role of each. */
export function ReferenceList({ model, references, faultAt }: ReferenceListProps) {
  const { max_reference_uploads: most, upload_media_types: types, reference_roles: roles } = model.limits;
  const [isOver, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const { all, fault = faultAt('/reference_upload_ids') } = references;
  if (most === 0 || roles.length === 0) return null;
  return (
    // Dropping is another way to what the button does, which the keyboard reaches.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <fieldset
      class="field"
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        references.take([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <legend class="label">
        {roles.every((role) => role === 'reference_image') ? 'Reference images' : 'Reference frames and images'}
        <span class="note">{`optional, up to ${most}`}</span>
      </legend>
      {all.length === 0 ? null : (
        <ul class="upload-list">
          {all.map((one, index) => (
            <li key={one.key}>
              <ReferenceRow of={one} name={one.filename ?? `Reference ${index + 1}`} {...{ roles, references }} />
              <FieldError text={one.fault ?? faultAt(`/reference_upload_ids/${index}`)} />
            </li>
          ))}
        </ul>
      )}
      {all.length >= most ? null : (
        <div class={isOver ? 'drop over' : 'drop'}>
          <Icon of="image-plus" />
          <p>
            Drop, paste or{' '}
            <button type="button" class="text-button" onClick={() => input.current?.click()}>
              choose files
            </button>
            <span>{`${listText(types)}, up to ${sizeText(model.limits.max_upload_bytes)} each`}</span>
          </p>
        </div>
      )}
      <FieldError text={fault} />
      <input
        ref={input}
        type="file"
        multiple={most > 1}
        accept={types.join(',')}
        aria-label="Reference files"
        hidden
        onChange={({ currentTarget }) => {
          references.take([...(currentTarget.files ?? [])]);
          // The same file can be chosen again.
          currentTarget.value = '';
        }}
      />
    </fieldset>
  );
}

const STATE_TEXTS = { uploading: 'Uploading…', ready: 'Ready', failed: 'Not uploaded' };

interface ReferenceRowProps {
  of: Reference;
  name: string;
  roles: readonly Role[];
  references: References;
}

function ReferenceRow({ of, name, roles, references }: ReferenceRowProps) {
  const { role, state, preview, file } = of;
  return (
    <>
      {preview === undefined ? (
        <span class="thumb" />
      ) : (
        <img class="thumb" src={preview} alt="" onLoad={() => URL.revokeObjectURL(preview)} />
      )}
      <div class="grow">
        <p class="cut" title={name}>
          {name}
        </p>
        <p class="tiny muted row" aria-busy={state === 'uploading' || undefined}>
          {state === 'uploading' ? <span class="spinner" /> : null}
          {STATE_TEXTS[state]}
          {roles.length > 1 ? null : <span class="faint">{ROLE_TEXTS[role]}</span>}
        </p>
      </div>
      {roles.length > 1 && file !== undefined ? (
        <select
          class="input"
          aria-label={`Role of ${name}`}
          value={role}
          onChange={({ currentTarget }) => references.again(of, currentTarget.value as Role)}
        >
          {roles.map((one) => (
            <option key={one} value={one}>
              {ROLE_TEXTS[one]}
            </option>
          ))}
        </select>
      ) : null}
      {state === 'failed' ? (
        <Button
          isSmall
          kind="quiet"
          icon="rotate-ccw"
          label={`Upload ${name} again`}
          onClick={() => references.again(of)}
        />
      ) : null}
      <Button isSmall kind="quiet" icon="x" label={`Remove ${name}`} onClick={() => references.remove(of)} />
    </>
  );
}

const disjunctions = new Intl.ListFormat('en-GB', { type: 'disjunction' });

/** `PNG, JPEG or WebP` */
function listText(types: readonly string[]): string {
  return disjunctions.format(
    types.map((type) => (type === 'image/webp' ? 'WebP' : type.replace(/^\w+\//, '').toUpperCase())),
  );
}

const sizeText = (bytes: number): string => `${numberText(bytes / 1024 / 1024)} MiB`;
