import os
import threading

import rclpy
from peer import main
from rclpy.qos import QoSHistoryPolicy, QoSProfile
from std_msgs.msg import ByteMultiArray

RELIABLE = QoSProfile(history=QoSHistoryPolicy.KEEP_ALL)


class Link:
    def __init__(self, chosen):
        os.environ.setdefault("ROS_LOG_DIR", os.environ["WORK"])
        rclpy.init()
        self.node, self.topic = rclpy.create_node(f"implementations_{chosen.role}"), chosen.topic
        self.spinner = threading.Thread(target=rclpy.spin, args=[self.node], daemon=True)
        if chosen.role == "pub":
            self.publisher = self.node.create_publisher(ByteMultiArray, self.topic, RELIABLE)
            self.wait(lambda: self.publisher.get_subscription_count())

    def wait(self, is_there):
        """The graph's changes wake who waits for them."""
        for _ in range(300):
            if is_there():
                return
            rclpy.spin_once(self.node, timeout_sec=0.1)
        raise TimeoutError("no subscription within 30 s")

    def publish(self, payload):
        self.publisher.publish(ByteMultiArray(data=[bytes([byte]) for byte in payload]))

    def flush(self):
        self.publisher.wait_for_all_acked(rclpy.duration.Duration(seconds=30))

    def subscribe(self, take):
        self.node.create_subscription(ByteMultiArray, self.topic, lambda message: take(b"".join(message.data)), RELIABLE)
        self.spinner.start()


main(Link)
