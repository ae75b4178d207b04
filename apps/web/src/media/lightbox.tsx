import { useEffect, useRef, useState } from 'preact/hooks';
import { ChevronLeft, ChevronRight, Download, Link, X, ZoomIn, ZoomOut } from 'lucide-preact';
import type { Output } from '../api-types.js';
import { Button, useCopy } from '../parts/buttons.js';
import { readable } from '../server.js';
import type { Thumbnails } from '../server-types.js';
import { saveOutput } from './save-output.js';

export interface Shown {
  readonly output: Output;
  readonly thumbnails: Thumbnails | undefined;
  readonly alt: string;
  /** Without its ending, which follows from the type. */
  readonly filename: string;
  /** The address of the console that shows it. */
  readonly href: string;
}

interface LightboxProps {
  readonly outputs: readonly Shown[];
  /** The index of the output that is open; closed where undefined. */
  readonly at: number | undefined;
  readonly open: (at: number | undefined) => void;
}

/** Outputs over the whole window, dark in both themes. Arrows go from one to the next, Escape closes. */
export function Lightbox({ outputs, at, open }: LightboxProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const shown = at === undefined ? undefined : outputs[at];
  useEffect(() => {
    if (shown !== undefined && dialog.current?.open === false) dialog.current.showModal();
    if (shown === undefined) dialog.current?.close();
  }, [shown]);
  const go = (by: number): void => {
    if (at !== undefined && outputs[at + by] !== undefined) open(at + by);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowRight') go(1);
    else if (event.key === 'ArrowLeft') go(-1);
    else return;
    event.stopPropagation();
  };
  return (
    // The arrow keys do what the buttons do.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <dialog ref={dialog} class="lightbox" aria-label="Output" onClose={() => open(undefined)} onKeyDown={onKeyDown}>
      {shown === undefined || at === undefined ? null : (
        <>
          <Stage key={shown.output.media_id} shown={shown} close={() => open(undefined)} />
          {outputs.length < 2 ? null : (
            <>
              <Button
                class="previous"
                icon={ChevronLeft}
                label="Previous"
                isDisabled={at === 0}
                onClick={() => go(-1)}
              />
              <Button
                class="next"
                icon={ChevronRight}
                label="Next"
                isDisabled={at === outputs.length - 1}
                onClick={() => go(1)}
              />
              <p class="position" aria-live="polite">{`${at + 1} of ${outputs.length}`}</p>
            </>
          )}
        </>
      )}
    </dialog>
  );
}

function Stage({ shown, close }: { readonly shown: Shown; readonly close: () => void }) {
  const { output, thumbnails, alt } = shown;
  const [isZoomed, setZoomed] = useState(false);
  const [isCopied, copy] = useCopy(window.location.origin + shown.href, 'the link');
  const isVideo = output.media_type === 'video';
  const url = readable(output.url);
  const zoom = (): void => setZoomed(!isZoomed);
  return (
    <>
      <div class="tools">
        {isVideo ? null : (
          <Button
            icon={isZoomed ? ZoomOut : ZoomIn}
            label={isZoomed ? 'Fit to the window' : 'Show at 100 %'}
            onClick={zoom}
          />
        )}
        <Button icon={Link} label={isCopied ? 'Copied' : 'Copy link'} onClick={() => void copy()} />
        <Button icon={Download} label="Download" onClick={() => void saveOutput(output, shown.filename)} />
        <Button icon={X} label="Close" onClick={close} />
      </div>
      <div class={isZoomed ? 'light zoomed' : 'light'}>
        {isVideo ? (
          // What is generated has no speech to caption.
          // oxlint-disable-next-line jsx-a11y/media-has-caption
          <video src={url} controls autoplay loop playsInline aria-label={alt} />
        ) : (
          // The button beside does the same by keyboard.
          // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-noninteractive-element-interactions
          <img
            src={url}
            alt={alt}
            width={output.width}
            height={output.height}
            style={thumbnails === undefined ? {} : { backgroundImage: `url("${thumbnails.medium}")` }}
            onClick={zoom}
          />
        )}
      </div>
    </>
  );
}
