// The viewer of the static page: it plays the motion of a glTF file that the page holds as text.
// Built into page.bundle.js, below the licence of three.js, by: npm install three@0.187.0 esbuild; npx esbuild page.mjs
// --bundle --minify --format=iife --legal-comments=none --outfile=page.bundle.js
import {
  AmbientLight, AnimationMixer, Box3, Color, DirectionalLight, PerspectiveCamera, Scene, Vector3, WebGLRenderer,
} from "three";
import { GLTFLoader } from "three/examples/jsm/loaders/GLTFLoader.js";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";

const element = (name) => document.getElementById(name);
const facts = JSON.parse(element("facts").textContent);
const bytes = Uint8Array.from(atob(element("motion").textContent.trim()), (c) => c.charCodeAt(0));

const stage = element("stage");
const renderer = new WebGLRenderer({ antialias: true, preserveDrawingBuffer: true });
renderer.setPixelRatio(window.devicePixelRatio);
stage.appendChild(renderer.domElement);
const scene = new Scene();
scene.background = new Color("#e9eef3");
scene.add(new AmbientLight("#ffffff", 1.6));
const camera = new PerspectiveCamera(35, 1, 0.01, 100);
const lamp = new DirectionalLight("#ffffff", 2.2);
camera.add(lamp);
lamp.position.set(0.4, 0.8, 1);
scene.add(camera);
const controls = new OrbitControls(camera, renderer.domElement);

function fit() {
  const width = stage.clientWidth, height = stage.clientHeight;
  renderer.setSize(width, height);
  camera.aspect = width / height;
  camera.updateProjectionMatrix();
}

new GLTFLoader().parse(bytes.buffer, "", (gltf) => {
  scene.add(gltf.scene);
  const mixer = new AnimationMixer(gltf.scene);
  const clip = gltf.animations[0];
  mixer.clipAction(clip).play();
  const box = new Box3();
  for (let k = 0; k <= 30; k++) {
    mixer.setTime((clip.duration * k * 0.999) / 30);
    gltf.scene.updateMatrixWorld(true);
    gltf.scene.traverse((x) => {
      if (x.isMesh) box.union(new Box3().setFromBufferAttribute(x.geometry.attributes.position).applyMatrix4(x.matrixWorld));
    });
  }
  const centre = box.getCenter(new Vector3()), size = box.getSize(new Vector3());
  const radius = size.length() / 2;
  fit();
  const angle = (Math.min(camera.fov, camera.fov * camera.aspect) * Math.PI) / 360;
  const away = new Vector3(...(size.x < size.z ? [1, 0.4, 0.45] : [0.45, 0.4, 1])).normalize();
  camera.position.copy(centre).addScaledVector(away, (0.95 * radius) / Math.sin(angle));
  camera.near = radius / 100;
  camera.far = radius * 100;
  controls.target.copy(centre);
  controls.update();
  fit();
  window.addEventListener("resize", fit);

  const slider = element("time"), button = element("play");
  let now = 0, playing = true, last = performance.now();
  const seek = (fraction) => { now = Math.min(1, Math.max(0, fraction)) * clip.duration; };
  slider.addEventListener("input", () => { playing = false; seek(slider.value / 1000); });
  button.addEventListener("click", () => { playing = !playing; });
  for (const plot of document.querySelectorAll(".plot")) {
    plot.addEventListener("click", (e) => {
      playing = false;
      seek((e.offsetX / plot.clientWidth - facts.left) / (facts.right - facts.left));
    });
  }
  renderer.setAnimationLoop(() => {
    const passed = (performance.now() - last) / 1000;
    last += 1000 * passed;
    if (playing) now = clip.duration > 0 ? (now + passed) % clip.duration : 0;
    mixer.setTime(Math.min(now, clip.duration * 0.999999));
    const fraction = clip.duration > 0 ? now / clip.duration : 0;
    slider.value = 1000 * fraction;
    button.textContent = playing ? "Pause" : "Play";
    element("now").textContent = "t = " + (facts.start + fraction * (facts.end - facts.start)).toPrecision(4);
    for (const line of document.querySelectorAll(".now")) {
      line.style.left = 100 * (facts.left + fraction * (facts.right - facts.left)) + "%";
    }
    controls.update();
    renderer.render(scene, camera);
    document.body.dataset.ready = "yes";
  });
}, (error) => { element("now").textContent = "The motion cannot be read: " + error; });
